// A profiler in small: NVTX loads it when NVTX_INJECTION64_PATH names it, and it writes what it is
// told into the file that PACELINE_NVTX_RECORD names, a line each.

#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace {

// Handles are the addresses of these; what is registered stays so until the program ends.
struct Domain {
  std::string name;
};
struct Text {
  std::string text;
};
struct Field {
  std::string name;
  std::uint64_t type;
  std::uint64_t offset;
};

std::mutex mutex;
std::map<std::uint64_t, std::vector<Field>> schemas;
std::uint64_t ranges = 0;

void write_line(const std::string& line) {
  static std::FILE* file = std::fopen(std::getenv("PACELINE_NVTX_RECORD"), "w");
  std::fprintf(file, "%s\n", line.c_str());
  std::fflush(file);
}

template <class Handle, class Kept>
Handle handle_to(Kept kept) {  // with the lock held
  static std::deque<Kept> all;
  return reinterpret_cast<Handle>(&all.emplace_back(std::move(kept)));
}

// Libraries that are loaded too, as NCCL is, leave names out.
std::string text_or_nothing(const char* text) { return text == nullptr ? "" : text; }

const std::string& name_of(nvtxDomainHandle_t domain) {
  return reinterpret_cast<Domain*>(domain)->name;
}

nvtxDomainHandle_t create_domain(const char* name) {
  const std::lock_guard lock(mutex);
  write_line("domain " + text_or_nothing(name));
  return handle_to<nvtxDomainHandle_t>(Domain{text_or_nothing(name)});
}

nvtxStringHandle_t register_string(nvtxDomainHandle_t domain, const char* text) {
  const std::lock_guard lock(mutex);
  write_line("string " + name_of(domain) + ": " + text_or_nothing(text));
  return handle_to<nvtxStringHandle_t>(Text{text_or_nothing(text)});
}

std::uint64_t register_schema(nvtxDomainHandle_t domain, const nvtxPayloadSchemaAttr_t* schema) {
  const std::lock_guard lock(mutex);
  const std::uint64_t id = NVTX_PAYLOAD_SCHEMA_ID_DYNAMIC_START + schemas.size();
  std::string line = "schema " + name_of(domain) + ": " + text_or_nothing(schema->name) + ", " +
                     std::to_string(schema->payloadStaticSize) + " bytes:";
  for (std::size_t i = 0; i < schema->numEntries; ++i) {
    const auto& entry = schema->entries[i];
    schemas[id].push_back({text_or_nothing(entry.name), entry.type, entry.offset});
    line += " " + schemas[id].back().name;
  }
  write_line(line);
  return id;
}

std::string text_of(const Field& field, const char* blob) {
  if (field.type == NVTX_PAYLOAD_ENTRY_TYPE_UINT64) {
    std::uint64_t number = 0;
    std::memcpy(&number, blob + field.offset, sizeof number);
    return std::to_string(number);
  }
  if (field.type == NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE) {
    const Text* text = nullptr;
    std::memcpy(&text, blob + field.offset, sizeof text);
    return text->text;
  }
  return "?";
}

nvtxRangeId_t start_range(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) {
  const std::lock_guard lock(mutex);
  const nvtxRangeId_t id = ranges++;
  const bool has_text = event->messageType == NVTX_MESSAGE_TYPE_ASCII;
  std::string line = "start " + std::to_string(id) + " " + name_of(domain) + ": " +
                     text_or_nothing(has_text ? event->message.ascii : nullptr) + ":";
  if (event->payloadType == NVTX_PAYLOAD_TYPE_EXT) {
    const auto* data = reinterpret_cast<const nvtxPayloadData_t*>(event->payload.ullValue);
    for (const Field& field : schemas[data->schemaId]) {
      line += " " + field.name + "=" + text_of(field, static_cast<const char*>(data->payload));
    }
  } else {
    line += " " + std::to_string(event->payload.ullValue);
  }
  write_line(line);
  return id;
}

void end_range(nvtxDomainHandle_t domain, nvtxRangeId_t id) {
  const std::lock_guard lock(mutex);
  write_line("end " + std::to_string(id) + " " + name_of(domain));
}

template <class Function>
void listen(NvtxFunctionTable table, NvtxCallbackIdCore2 id, Function* function) {
  *table[id] = reinterpret_cast<NvtxFunctionPointer>(function);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(
    NvtxGetExportTableFunc_t export_table) {
  const auto* callbacks =
      static_cast<const NvtxExportTableCallbacks*>(export_table(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned size = 0;
  if (callbacks == nullptr ||
      callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size) == 0) {
    return 0;
  }
  listen(table, NVTX_CBID_CORE2_DomainCreateA, create_domain);
  listen(table, NVTX_CBID_CORE2_DomainRegisterStringA, register_string);
  listen(table, NVTX_CBID_CORE2_DomainRangeStartEx, start_range);
  listen(table, NVTX_CBID_CORE2_DomainRangeEnd, end_range);
  return 1;
}

// Without it only the payload extension is off: what PACELINE_NVTX_PLAIN asks for.
extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtxExtension(
    nvtxExtModuleInfo_t* module) {
  if (module->moduleId != NVTX_EXT_PAYLOAD_MODULEID || module->segmentsCount != 1) return 0;
  if (std::getenv("PACELINE_NVTX_PLAIN") != nullptr) return 1;
  module->segments[0].functionSlots[NVTX3EXT_CBID_nvtxPayloadSchemaRegister] =
      reinterpret_cast<std::intptr_t>(&register_schema);
  return 1;
}

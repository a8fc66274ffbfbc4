#include "real/nvtx/range.h"

#ifdef PACELINE_NVTX
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>

#include <cstddef>
#include <map>
#include <mutex>
#endif

namespace paceline::real::nvtx {

#ifdef PACELINE_NVTX
namespace {

// As the profiler reads it, by the schema. A plain NVTX payload would hold one number only.
struct Payload {
  std::uint64_t bucket;
  std::uint64_t bytes;
  nvtxStringHandle_t algorithm;
};

nvtxPayloadSchemaEntry_t entry(std::uint64_t type, const char* name, std::size_t offset) {
  nvtxPayloadSchemaEntry_t made{};
  made.type = type;
  made.name = name;
  made.offset = offset;
  return made;
}

std::uint64_t register_schema(nvtxDomainHandle_t domain) {
  const nvtxPayloadSchemaEntry_t entries[] = {
      entry(NVTX_PAYLOAD_ENTRY_TYPE_UINT64, "bucket", offsetof(Payload, bucket)),
      entry(NVTX_PAYLOAD_ENTRY_TYPE_UINT64, "bytes", offsetof(Payload, bytes)),
      entry(NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE, "algorithm",
            offsetof(Payload, algorithm))};
  nvtxPayloadSchemaAttr_t schema{};
  schema.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NAME | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE;
  schema.name = "paceline call";
  schema.type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC;
  schema.entries = entries;
  schema.numEntries = std::size(entries);
  schema.payloadStaticSize = sizeof(Payload);
  return nvtxPayloadSchemaRegister(domain, &schema);
}

class Domain {
 public:
  Domain() : handle_(nvtxDomainCreateA("paceline")) {
    // Without a tool the handle is null, and a tool may leave the domain out.
    if (handle_ == nullptr || nvtxDomainIsEnabled(handle_) == 0) return;
    schema_ = register_schema(handle_);
    listened_to_ = true;
  }

  [[nodiscard]] bool listened_to() const { return listened_to_; }

  std::uint64_t begin(const std::string& name, const Call& call) {
    const Payload payload{call.bucket, call.size.value(), registered(call.algorithm)};
    const nvtxPayloadData_t data{schema_, sizeof(payload), &payload};
    nvtxEventAttributes_t attributes{};
    attributes.version = NVTX_VERSION;
    attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
    attributes.message.ascii = name.c_str();
    if (schema_ == 0) {  // a tool that knows no schemas shows the bytes at least
      attributes.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
      attributes.payload.ullValue = payload.bytes;
    } else {
      attributes.payloadType = NVTX_PAYLOAD_TYPE_EXT;
      attributes.payload.ullValue = reinterpret_cast<std::uintptr_t>(&data);
      attributes.reserved0 = 1;  // that many payloads
    }
    return nvtxDomainRangeStartEx(handle_, &attributes);
  }

  void end(std::uint64_t id) { nvtxDomainRangeEnd(handle_, id); }

 private:
  nvtxStringHandle_t registered(std::string_view text) {
    const std::lock_guard lock(mutex_);
    auto found = strings_.find(text);
    if (found == strings_.end()) {
      std::string name(text);
      nvtxStringHandle_t handle = nvtxDomainRegisterStringA(handle_, name.c_str());
      found = strings_.emplace(std::move(name), handle).first;
    }
    return found->second;
  }

  nvtxDomainHandle_t handle_;
  std::uint64_t schema_ = 0;
  bool listened_to_ = false;
  std::mutex mutex_;
  std::map<std::string, nvtxStringHandle_t, std::less<>> strings_;
};

Domain& domain() {
  static Domain the_domain;
  return the_domain;
}

}  // namespace

bool is_listened_to() { return domain().listened_to(); }

Range::Range(const std::string& name, const Call& call) {
  if (is_listened_to()) id_ = domain().begin(name, call);
}

void Range::end() {
  if (id_) domain().end(*id_);
  id_.reset();
}

#else

bool is_listened_to() { return false; }

Range::Range(const std::string& /*name*/, const Call& /*call*/) {}

void Range::end() {}

#endif

}  // namespace paceline::real::nvtx

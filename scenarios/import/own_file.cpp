#include "scenarios/import/own_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "scenarios/import/shell_word.h"
#include "traces/text/lines.h"

namespace paceline {
namespace {

struct OwnKind {
  std::string_view schema, what, command, use;
};

constexpr std::array own_kinds{
    OwnKind{"paceline/1", "a scenario", "paceline run {}", ""},
    OwnKind{"paceline.job/1", "a job of a planner", "paceline capacity {}", ""},
    OwnKind{"paceline.cluster/1", "a cluster", "paceline collective {}", ""},
    OwnKind{"paceline.network/1", "a network", "paceline buckets {}", ""},
    OwnKind{"paceline.claim/1", "a claim", "paceline claims {}", ""},
    OwnKind{"paceline.device/1", "a device", "", "a scenario takes it as workload.device"},
    OwnKind{"paceline.calibration/1", "a calibration", "",
            "a scenario takes it as cluster.calibration, paceline validate as --calibration"},
    OwnKind{"paceline.catalogue/1", "a catalogue of machines", "", "a job takes it as catalogue"},
    OwnKind{
        "paceline.result/1", "a result of paceline run", "",
        "paceline compare takes two of them, as paceline compare predicted.json measured.json"}};

// Behind "schema:" or "\"schema\":", without quotes; empty for a text without one.
std::string_view schema_of(std::string_view text) {
  constexpr std::size_t looked_at = 65536;  // comments may stand before it
  text = text.substr(0, looked_at);
  std::string_view schema;
  traces::for_each_line(text, [&](std::size_t number, std::string_view line) {
    if (!schema.empty()) return;
    const std::size_t begin = line.find_first_not_of(number == 1 ? "{ \t" : " \t");
    if (begin == line.npos) return;
    line.remove_prefix(begin);
    for (const std::string_view key : {"schema:", "\"schema\":"}) {
      if (!line.starts_with(key)) continue;
      line.remove_prefix(key.size());
      line = line.substr(0, line.find_first_of(",#}"));
      const std::size_t first = line.find_first_not_of(" \t\"'");
      const std::size_t last = line.find_last_not_of(" \t\"'");
      if (first != line.npos) schema = line.substr(first, last - first + 1);
      return;
    }
  });
  return schema;
}

}  // namespace

std::optional<OwnFile> own_file_of(std::string_view text) {
  const std::string_view schema = schema_of(text);
  const auto kind = std::ranges::find(own_kinds, schema, &OwnKind::schema);
  if (kind != own_kinds.end()) {
    return OwnFile{std::string(kind->what), std::string(kind->command), std::string(kind->use)};
  }
  constexpr std::string_view any = "paceline.";
  // Import reads these; what is wrong with one is said.
  constexpr std::array read{std::string_view("paceline.trace/"),
                            std::string_view("paceline.recording/"),
                            std::string_view("paceline.timeline/")};
  if (!schema.starts_with(any) || schema.find('/') == schema.npos ||
      std::ranges::any_of(read, [&](auto one) { return schema.starts_with(one); })) {
    return std::nullopt;
  }
  return OwnFile{fmt::format("what paceline wrote, {}", traces::shown(schema)), "",
                 "no command reads it"};
}

std::string sentence_of(const OwnFile& own, const std::string& file) {
  if (own.command.empty()) return fmt::format("is {}: {}", own.what, own.use);
  return fmt::format("is {}: {}", own.what,
                     fmt::format(fmt::runtime(own.command), shell_word(file)));
}

}  // namespace paceline

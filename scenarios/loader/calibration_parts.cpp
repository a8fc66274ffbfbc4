#include "scenarios/loader/calibration_parts.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <system_error>

#include "scenarios/loader/document/document.h"

namespace paceline::loader {
namespace {

struct Seen {
  std::filesystem::file_time_type written;
  std::uintmax_t bytes = 0;
  CalibrationParts parts;
};

CalibrationParts parts_in(const std::string& path) {
  try {
    const DocumentPtr document = read_document(path);
    const YAML::Node& root = document->root;
    if (!root.IsMap() || !root["learnt"]) return {};
    return {.has_logs = root["collectives"] || root["links"], .is_learnt = true};
  } catch (const InputError&) {
    return {};  // its reader says where and why
  }
}

}  // namespace

CalibrationParts calibration_parts_of(const std::string& path) {
  static std::mutex mutex;
  static std::map<std::string, Seen> seen;  // each point of a sweep asks
  std::error_code unknown;
  if (!std::filesystem::is_regular_file(path, unknown)) return {};  // a pipe is read once
  const auto written = std::filesystem::last_write_time(path, unknown);
  if (unknown) return {};
  const std::uintmax_t bytes = std::filesystem::file_size(path, unknown);
  if (unknown) return {};
  const std::lock_guard lock(mutex);
  const auto known = seen.find(path);
  if (known != seen.end() && known->second.written == written && known->second.bytes == bytes) {
    return known->second.parts;
  }
  return seen.insert_or_assign(path, Seen{written, bytes, parts_in(path)}).first->second.parts;
}

}  // namespace paceline::loader

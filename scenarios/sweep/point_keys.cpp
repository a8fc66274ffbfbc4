#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "scenarios/document/document.h"
#include "scenarios/files/input_file.h"
#include "scenarios/sweep/store.h"

namespace paceline::sweep {
namespace {

namespace fs = std::filesystem;

PointKey key_of(std::string_view text) {
  const loader::Sha256 digest = loader::digest_of(text);
  PointKey key;
  std::copy_n(digest.begin(), key.bytes.size(), key.bytes.begin());
  return key;
}

void combine(const PointKey& other, PointKey& key) {
  for (std::size_t i = 0; i < key.bytes.size(); ++i) {
    key.bytes[i] = static_cast<std::uint8_t>(key.bytes[i] ^ other.bytes[i]);
  }
}

std::string contents_of(const std::string& path) {
  files::note_input(path);
  const loader::Sha256 digest = loader::sha256_of_file(path);
  return std::string(digest.begin(), digest.end());
}

// What the files of a folder hold, in the order of their names.
std::string contents_of_folder(const fs::path& folder) {
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) files.push_back(entry.path().string());
  }
  std::ranges::sort(files);
  std::string all;
  for (const std::string& file : files) {
    all += file.substr(folder.string().size()) + '\0' + contents_of(file);
  }
  return all;
}

// A value that is the path of a file stands for what that holds; of folders only traces are read.
PointKey key_of(const std::string& path, const ScenarioFile::Value& value) {
  std::string all = path + '\0' + value.text + '\0';
  std::error_code unknown;
  const fs::path named = fs::path(value.folder) / value.text;
  if (value.text.find('\1') == std::string::npos && !value.text.empty()) {
    if (fs::is_regular_file(named, unknown)) {
      all += contents_of(named.string());
    } else if (path.starts_with("workload.trace") && fs::is_directory(named, unknown)) {
      all += contents_of_folder(named);
    }
  }
  return key_of(all);
}

}  // namespace

PointKeys::PointKeys(const ScenarioFile& file) : file_(file), common_(key_of(model_version())) {
  for (const auto& [path, value] : file.values()) combine(key_of(path, value), common_);
  for (const ScenarioFile::Axis& axis : file.axes()) {
    axes_.emplace_back();
    for (const AxisValue& value : axis.values) {
      axes_.back().push_back(key_of(axis.path, {value.text, axis.folder}));
    }
  }
  // Evidence conditions all points.
  PointKey evidence;
  for (const std::size_t point : file.known_points()) {
    const double measured = file.measured(point)->throughput.value();
    combine(key_of(fmt::format("known {} {}", measured, described(point).view())), evidence);
  }
  combine(evidence, common_);
}

PointKey PointKeys::of(std::size_t point) const {
  PointKey key = described(point);
  if (const auto measured = file_.measured(point)) {
    combine(key_of(fmt::format("measured {} {}", measured->throughput.value(), measured->known)),
            key);
  }
  return key;
}

PointKey PointKeys::described(std::size_t point) const {
  PointKey key = common_;
  for (std::size_t i = axes_.size(); i-- > 0;) {
    combine(axes_[i][point % axes_[i].size()], key);
    point /= axes_[i].size();
  }
  return key;
}

}  // namespace paceline::sweep

#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace paceline {

// A file of Paceline that is neither a run nor a log of collectives, and the command that reads it.
struct OwnFile {
  std::string what;  // completes "is ...": "a scenario"
  std::string
      command;      // with {} for the file, as "paceline run {}"; empty where none takes it alone
  std::string use;  // where no command does: "a scenario takes it as cluster.calibration"
};

// Recognizes it by its schema: in YAML a key at the beginning of a line, in JSON the first.
[[nodiscard]] std::optional<OwnFile> own_file_of(std::string_view text);

// Says what it is, and the command for this file.
[[nodiscard]] std::string sentence_of(const OwnFile& own, const std::string& file);

}  // namespace paceline

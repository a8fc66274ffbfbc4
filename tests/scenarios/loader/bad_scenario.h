#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <ostream>
#include <string>
#include <utility>

#include "tests/scenarios/process.h"
#include "tests/scenarios/refused.h"
#include "tests/scenarios/small_scenario.h"

namespace paceline::test {

// Without the marker "@", and where it stood: ":line:column", or nothing without one.
struct Marked {
  std::string text, place;

  explicit Marked(std::string marked) : text(std::move(marked)) {
    const auto at = text.find('@');
    if (at == std::string::npos) return;
    text.erase(at, 1);
    const auto line_start = text.rfind('\n', at - 1);  // at 0: none, whatever is found
    const bool first_line = at == 0 || line_start == std::string::npos;
    const auto end = text.begin() + static_cast<std::ptrdiff_t>(at);
    place = fmt::format(":{}:{}", std::count(text.begin(), end, '\n') + 1,
                        first_line ? at + 1 : at - line_start);
  }
};

// The small scenario with one thing changed. "@" is where the message must point; what stands in
// `message` must follow.
struct BadScenario {
  const char* name;
  const char* from;  // empty: append
  const char* to;
  const char* message;
};

inline void PrintTo(const BadScenario& bad, std::ostream* out) { *out << bad.name; }

inline void expect_refused_there(const BadScenario& bad) {
  const Marked marked(changed(small_scenario, bad.from, bad.to));
  const Folder folder;
  folder.write("bad.yaml", marked.text);
  expect_refused(paceline({"run", "bad.yaml"}, folder.path()),
                 "paceline: bad.yaml" + marked.place + ": " + bad.message);
}

}  // namespace paceline::test

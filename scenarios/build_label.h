#pragma once

#include <string_view>

namespace paceline {

// What results, stores and pages say of the program that made them.
struct BuildLabel {
  std::string_view version;  // "0.1.0"
  // As git describes the sources, such as "8b9fb9a2", with "-dirty." and a digest of the changes
  // where they differ from a commit; "unknown" outside a checkout.
  std::string_view commit;
  std::string_view simgrid;  // its version; "none" where the build has no paceline-sim
};

extern const BuildLabel build_label;

}  // namespace paceline

#pragma once

#include <iosfwd>
#include <map>
#include <string>
#include <vector>

#include "models/cost/link_fit.h"
#include "scenarios/calibration/log_file.h"
#include "scenarios/loader/reader.h"

namespace paceline {

// What the links of one place were found to have, and from what.
struct CalibratedLink {
  struct Source {
    std::string file, sha256;
    std::size_t rows = 0;  // used; a fit takes the median of each size
    std::vector<traces::PingPong::Skipped> skipped;
  };

  std::vector<Source> sources;
  cost::LinkFit fit;  // of one that was read: the estimate only

  [[nodiscard]] std::string files() const;  // their names, without folders
};

// Fits all tables of a place together. Throws InputError where they do not give a latency and a
// bandwidth, saying what it takes.
[[nodiscard]] std::map<cost::LinkPlace, CalibratedLink> calibrate_links(
    const std::vector<LinkTable>& tables);

// The section `links:` of a calibration; nothing for none.
void write_links(std::ostream& out, const std::map<cost::LinkPlace, CalibratedLink>& links);
[[nodiscard]] std::map<cost::LinkPlace, CalibratedLink> read_links(loader::Reader& calibration);

}  // namespace paceline

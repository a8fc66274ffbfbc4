#pragma once

#include <iosfwd>
#include <map>
#include <string>
#include <vector>

#include "models/cost/link_fit.h"
#include "scenarios/calibration/log_file.h"
#include "scenarios/loader/document/reader.h"

namespace paceline {

// The fitted latency and bandwidth of the links of one place, with their sources.
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

// Fits all tables of a place together. Throws InputError, with what is missing, where they do not
// give a latency and a bandwidth.
[[nodiscard]] std::map<cost::LinkPlace, CalibratedLink> calibrate_links(
    const std::vector<LinkTable>& tables);

// The section `links:` of a calibration; empty for no links.
void write_links(std::ostream& out, const std::map<cost::LinkPlace, CalibratedLink>& links);
[[nodiscard]] std::map<cost::LinkPlace, CalibratedLink> read_links(loader::Reader& calibration);

}  // namespace paceline

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "models/cost/nccl_call.h"
#include "scenarios/loader/scenario.h"

namespace paceline {

// How a scenario's library runs calls on its cluster.
class LibraryCalls {
 public:
  // The scenario must outlive it.
  explicit LibraryCalls(const Scenario& scenario);

  // Gives a call its algorithm, options and wire. Returns the protocol that stands behind the wire,
  // as its library spells it; empty without one.
  std::string name(training::CollectiveCall& call);

  // What was assumed in naming the calls so far.
  [[nodiscard]] std::vector<std::string> assumptions() const;

 private:
  std::string name_nccl(training::CollectiveCall& call);

  const Scenario& scenario_;
  std::uint32_t nccl_minor_;                 // as the scenario has it, or else the one assumed
  std::optional<cost::nccl::Chooser> nccl_;  // with two GPUs or more
  std::map<collectives::Collective, std::set<std::string>> nccl_ways_;
  std::vector<std::string> stand_ins_;
};

}  // namespace paceline

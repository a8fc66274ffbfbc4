#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "models/assumption.h"
#include "models/cost/nccl_call.h"
#include "scenarios/loader/scenario.h"

namespace paceline {

// Throws InputError where the scenario gives channels or chunks that no call's algorithm uses,
// unless they may be meant for others of several compared values. Precondition: the calls are
// planned.
void expect_options_are_used(const Scenario& scenario, const training::StepProgram& program);

// Plans how a scenario's library carries out calls on its cluster.
class LibraryCalls {
 public:
  // The scenario must outlive it.
  explicit LibraryCalls(const Scenario& scenario);

  // Sets how a call is carried out, and how sure its time is. Returns the library's name for the
  // protocol behind its wire; empty without one.
  std::string plan(training::CollectiveCall& call);

  // The same by an algorithm of the registry, or the fastest predicted (collectives::automatic).
  void plan_by(const std::string& algorithm, training::CollectiveCall& call) const;

  [[nodiscard]] bool is_named(collectives::Collective collective) const;
  // What NCCL chooses from, the quickest by its own model first; empty where it does not choose.
  [[nodiscard]] std::vector<cost::nccl::Choice> nccl_choices(const training::CollectiveCall& call);
  // The release that is modelled. Precondition: the library is NCCL.
  [[nodiscard]] cost::nccl::Release nccl_release() const;

  [[nodiscard]] Assumptions assumptions() const;

 private:
  // Null where another library runs the calls, or the group has one GPU.
  const cost::nccl::Chooser* chooser_of(training::Group group);
  std::string plan_nccl(const cost::nccl::Chooser& chooser, training::CollectiveCall& call);

  const Scenario& scenario_;
  std::uint32_t nccl_minor_;  // as the scenario has it, or else the one assumed
  std::map<training::Group, cost::nccl::Chooser> nccl_;  // of groups that calls have had
  std::map<collectives::Collective, std::set<std::string>> nccl_ways_;
  Assumptions stand_ins_;
};

}  // namespace paceline

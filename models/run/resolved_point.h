#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/run/measurement.h"
#include "models/run/step_trace.h"
#include "models/topology/cluster.h"
#include "models/training/step_program.h"
#include "models/words.h"

namespace paceline {

enum class Fidelity {
  flow,      // every transfer a flow in SimGrid
  folded,    // one rank of each symmetry class, in this process
  measured,  // run on hardware
};

constexpr auto words_of(Fidelity) {
  return words_up_to<Fidelity::measured>("flow", "folded", "measured");
}

// A job's place on the cluster: its nodes in the order of its ranks, and when it starts.
struct Job {
  std::vector<std::uint32_t> nodes;
  Seconds start;
};

// Everything an executor needs to run one point of a sweep; it crosses process borders.
struct ResolvedPoint {
  std::uint64_t id = 0;
  topology::Cluster cluster;
  training::StepProgram program;
  std::vector<double> slowdown;  // of compute, by rank; empty: 1 for all; each above 0
  // Jobs that run the program side by side, each on as many nodes of its own. The first is the one
  // asked about: rank, slowdown and result are its. Empty: one job on all nodes.
  std::vector<Job> jobs;
  Fidelity fidelity = Fidelity::folded;
  bool force = false;  // whatever effort it takes
  // Follow each rank of up to a million transfers where they leave calls at different times, which
  // takes up to half a second; not followed, communication may be some per cent off.
  bool each_rank = false;
  std::optional<MeasureSettings> measure = std::nullopt;  // for those who run it on hardware
};

// An executor's answer to a point.
struct Result {
  std::uint64_t id = 0;
  Fidelity fidelity = Fidelity::folded;
  StepTotals totals;
  StepTrace trace;  // on its way between processes without the program: that is the point's
  std::uint64_t transfers = 0;                            // that the prediction stands for
  std::vector<std::string> notes;                         // what was assumed on the way
  std::optional<Measurement> measurement = std::nullopt;  // of one that was run on hardware
};

// nullopt when an executor can run the point, apart from its program, else one sentence: the
// cluster is possible, jobs have nodes of their own, every rank a slowdown, every call its root and
// its servers. Says nothing of calls whose algorithm is still to be chosen, or unknown.
[[nodiscard]] std::optional<std::string> find_fault(const ResolvedPoint& point);

[[nodiscard]] double slowdown_of(const ResolvedPoint& point, Rank rank);

// The same of one operation that computes: with the rank's part of it.
[[nodiscard]] double slowdown_of(const ResolvedPoint& point, const training::Operation& operation,
                                 Rank rank);

// The point's jobs: at least one.
[[nodiscard]] std::vector<Job> jobs_of(const ResolvedPoint& point);

// The nodes of one job as a cluster of their own, whose ranks are the job's.
[[nodiscard]] topology::Cluster job_cluster(const ResolvedPoint& point);

// How many switches are endpoints beside ranks and servers of each job: of every node one, where
// any call has some (training::reduces_in), and one more where any has the network's.
[[nodiscard]] std::uint32_t switches_of_job(const ResolvedPoint& point);

// Where an endpoint of a job's plan is on the point's cluster. Servers and the network's switches
// serve all jobs; the others are those of the job's nodes.
[[nodiscard]] Rank place_of(const ResolvedPoint& point, const Job& job, Rank endpoint);

}  // namespace paceline

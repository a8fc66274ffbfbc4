#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "models/uncertain/quantities.h"
#include "models/units/units.h"
#include "scenarios/loader/job/job.h"

namespace paceline::capacity {

// A time whose logarithm is Student's, with its own scale on either side of the likeliest.
struct UncertainTime {
  Seconds likeliest;
  double low = 0, high = 0;  // the ends of its 90 % interval, as logarithms over that
  double degrees = uncertain::freedom;
  // Above a half: a bound, which holds up to that probability: no step is as likely to take no
  // longer than a time as this one.
  double bound_up_to = 0;

  [[nodiscard]] Seconds within(double probability) const;
  [[nodiscard]] double probability_within(Seconds time) const;
};

// How long a node takes to get a step's samples ready, beside the step before; 0: not counted.
struct InputTime {
  UncertainTime cpus = {};
  Seconds disk = {};

  [[nodiscard]] Seconds within(double probability) const {
    return std::max(cpus.within(probability), disk);
  }
};

// A step's time: the longer of what GPUs and links take and of its input, which know nothing of
// each other.
struct Speed {
  Seconds step;  // likeliest, as UncertainTime has it, without input
  double low = 0, high = 0;
  double degrees = uncertain::freedom;
  double samples_per_step = 1;
  InputTime input = {};
  double bound_up_to = 0;  // as UncertainTime has it

  [[nodiscard]] UncertainTime without_input() const {
    return {step, low, high, degrees, bound_up_to};
  }
  [[nodiscard]] bool is_bound_by_cpus() const {
    return input.cpus.likeliest > std::max(step, input.disk);
  }
  // The time that the step does not exceed with that probability.
  [[nodiscard]] Seconds step_within(double probability) const;
  // The probability that it takes no more.
  [[nodiscard]] double probability_within(Seconds step) const;
};

// No step's median is below the one, nor below the other the time that it does not exceed with the
// job's probability; nor are the times between, on a straight line of logarithms over Student's
// quantiles. Without input.
struct StepBound {
  Seconds median, limit;

  [[nodiscard]] Speed speed(double probability, double samples_per_step,
                            const InputTime& input) const;
};

// What a run takes beside its steps where its job and its catalogue do not tell.
namespace untold {

// Losses a second, Gamma-distributed.
struct Rate {
  double mean, shape;

  [[nodiscard]] constexpr double variance_of(double many) const {
    return many * mean * many * mean / shape;
  }
};

// Of a GPU. Published interruptions, per million GPU-hours: 20 of 16,384 H100 (Llama 3, 419 in 54
// days), 130 of 992 A100 (OPT-175B, one in 7.5 h), 124 and 34 of clusters of A100 (Kokolis et al.,
// HPCA 2025, one in 7.9 h of 1,024 GPUs and in 1.8 h of 16,384). Of this distribution 28 % are
// below the least of them, and 13 % above the most.
inline constexpr Rate failures{6e-5 / 3600, 1};

// Of a spot node. A quarter of this distribution is below 0.026 %/h (19 % a month: AWS's Spot
// Advisor has classes from below 5 % to above 20 % a month), half below 0.44 %/h (10 % a day:
// Google's documentation of preemptible VMs observed 5 to 15 % a day), a twentieth above 12 %/h
// (Bamboo, NSDI 2023, trained at 10, 16 and 33 % an hour, from traces of GPU nodes).
inline constexpr Rate preemptions{0.025 / 3600, 0.25};

// Until the first step: lognormal, with 90 % from a third to three times as long. Five minutes is
// what users report of new nodes of EC2 (provisioned, booted, joined), the width a judgement.
inline constexpr Seconds start{300};
inline constexpr double start_width = 3;

// vCPUs, lognormal with 90 % from that factor-th to so many times: of 77 rented machines of eight
// sellers (skypilot-catalog) the logarithm has the mean of 16.4 and a deviation of 0.59.
inline constexpr double vcpus_per_gpu = 16, vcpus_factor = 2.7;

// What a checkpoint takes, a judgement.
inline constexpr Seconds checkpoint{60};

}  // namespace untold

// Failures and preemptions, after which a job starts again from its last checkpoint.
struct Losses {
  double per_s = 0;                         // failures and preemptions of all nodes, on average
  std::vector<Seconds> starts{Seconds(0)};  // until the first step, and after each loss: one of
                                            // these for all of them, each as likely
  Seconds segment, takes;  // work between two checkpoints, and what one takes; a segment of 0: none
                           // are made, and a loss costs all work
  double variance = 0;     // of per_s, where it is not known

  // Of so many nodes, which may also be preempted, at a rate that nobody may tell (nullopt). Unless
  // the job says how often checkpoints are made, as often as loses least (Daly, FGCS 22(3), 2006,
  // eq. 37).
  [[nodiscard]] static Losses of(const Overheads& overheads, std::uint32_t nodes,
                                 std::uint32_t gpus_per_node, std::optional<double> preemptions);
};

// The time from start to finish of some work.
//
// Failures are Poisson, or negative binomial where their rate is not known (Gamma-distributed with
// its mean and variance). With a rate 1/M, segments of work T, checkpoints C and R for a restart, a
// segment's expected time is M exp(R/M) (exp((T + C)/M) - 1) (Daly, eq. 20). The average cost of a
// loss, of the likeliest step, follows from it; the number of losses is drawn. Without checkpoints
// slow steps lose more: limits of 99 % are 6 to 17 % too short then, of 90 % they are not.
class Finish {
 public:
  // Of samples.
  Finish(const Speed& speed, double samples, const Losses& losses);

  // The probability that it is done by then.
  [[nodiscard]] double probability_within(Seconds time) const;
  // And that no step takes longer than that, besides.
  [[nodiscard]] double probability_within(Seconds time, Seconds step) const;
  // When it is done at the latest with that probability; infinite where losses leave no way on.
  [[nodiscard]] Seconds within(double probability) const;
  // Where steps are as likely and losses as many as expected.
  [[nodiscard]] Seconds expected() const;

 private:
  // By how long it takes until the first step.
  struct Started {
    Seconds start;
    double expected;  // by checkpoints and losses: expected time over work; may be infinite
    Seconds loss;     // what one costs on average
  };
  [[nodiscard]] Started started(Seconds start) const;
  [[nodiscard]] double probability_within(Seconds time, Seconds step, const Started& how) const;
  // Where losses are negative binomial.
  [[nodiscard]] double by_unknown_rate(Seconds time, Seconds step, const Started& how) const;
  [[nodiscard]] double done(Seconds left, Seconds step_at_most) const;

  Speed speed_;
  Seconds step_;  // median
  double steps_;
  Losses losses_;
  Seconds segment_, takes_;
  double stretch_ = 1;  // by checkpoints alone
  std::vector<Started> ways_;
};

}  // namespace paceline::capacity

#pragma once

#include "models/uncertain/quantities.h"
#include "models/units/units.h"
#include "scenarios/loader/job/job.h"

namespace paceline::capacity {

// The time of a step: its logarithm follows Student's distribution, with its own scale on either
// side of the likeliest value.
struct Speed {
  Seconds step;              // likeliest
  double low = 0, high = 0;  // the ends of its 90 % interval, as logarithms over that
  double degrees = uncertain::freedom;
  double samples_per_step = 1;

  // The time that the step does not exceed with that probability.
  [[nodiscard]] Seconds step_within(double probability) const;
  // The probability that it takes no more.
  [[nodiscard]] double probability_within(Seconds step) const;
};

// Failures and preemptions, after which a job starts again from its last checkpoint.
struct Losses {
  double per_s = 0;        // failures and preemptions of all nodes
  Seconds start;           // until the first step, and after each loss
  Seconds segment, takes;  // work between two checkpoints, and what one takes; a segment of 0: none
                           // are made, and a loss costs all work

  // For a job's overheads on so many nodes, which may also be preempted. Unless the file says how
  // often checkpoints are made, as often as loses least (Daly, FGCS 22(3), 2006, eq. 37).
  [[nodiscard]] static Losses of(const Overheads& overheads, std::uint32_t nodes,
                                 double preemptions_per_s);
};

// The time from start to finish of some work.
//
// Failures come by themselves at a constant rate: Poisson. With a rate 1/M, segments of work T and
// checkpoints C, and R for a restart, the expected time for each segment is
// M exp(R/M) (exp((T + C)/M) - 1) (Daly, eq. 20). What a loss costs on average follows from it;
// the number of losses is drawn, their cost is that average, of the likeliest step. Where no
// checkpoints are made slow steps lose more than that: limits of 99 % are 6 to 17 % too short then,
// of 90 % they are not.
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
  [[nodiscard]] Seconds lossless(Seconds step) const;

  Speed speed_;
  double steps_;
  Losses losses_;
  double stretch_ = 1;   // by checkpoints alone
  double expected_ = 1;  // by checkpoints and losses: expected time over work
  Seconds loss_;         // what one costs on average
};

}  // namespace paceline::capacity

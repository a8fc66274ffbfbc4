#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/uncertain/quantities.h"
#include "models/uncertain/response.h"

namespace paceline::uncertain {

// Something measured: how its prediction responds, and the logarithm of what was measured over what
// was predicted. A step, or calls alone, whose response is the links' own value.
struct KnownRow {
  Response response;
  double measured = 0;
  // Of `measured` by itself, a standard deviation. 0: that of steps, Priors::row.
  double deviation = 0;
};

// What is believed of a point.
struct Believed {
  std::array<double, quantities> values{};  // of the quantities there, the most likely
  double moved = 0;                         // of the step's logarithm by them
  // The ends of a 90 % interval of the step's logarithm around that, and each quantity's part of
  // them, all taken as independent: 0 or less, and 0 or more.
  double low = 0, high = 0;
  std::array<double, quantities> lows{}, highs{};
  // What no quantity has, with what an engine's waits may be.
  double rest_low = 0, rest_high = 0;

  // What makes the interval widest; nullopt: what no quantity has.
  [[nodiscard]] std::optional<Unknown> widest() const;
};

// What is believed of a machine and workload: priors, conditioned by rows that are known. Rows
// together are taken for Student's; their steps for as linear around what is believed of them as
// two differences show, found again until it settles (Gauss and Newton's steps): Laplace's
// approximation. Of points anywhere else the quantities follow from the covariances between places.
class Belief {
 public:
  explicit Belief(const Priors& priors);
  Belief(const Priors& priors, std::vector<KnownRow> rows);
  // `told_by`: whose rows these are, in words of a report.
  Belief(const Priors& priors, std::vector<KnownRow> rows, std::string told_by);

  [[nodiscard]] Believed of(const Response& response) const;

  // With one more row that is as it is expected to be, and as surprising as those known.
  [[nodiscard]] Belief expecting(KnownRow row) const;

  [[nodiscard]] const Priors& priors() const { return priors_; }
  [[nodiscard]] bool is_conditioned() const { return known_ != nullptr; }
  [[nodiscard]] const std::string& told_by() const { return told_by_; }

  // Of the rows that are known, by the priors: the logarithm of their density, and the square of
  // how many scales they lie from the centre together. 0 where nothing is known.
  [[nodiscard]] double log_density() const;
  [[nodiscard]] double distance() const;

 private:
  struct Known;
  [[nodiscard]] double ends() const;
  Priors priors_;
  std::string told_by_;
  std::shared_ptr<const Known> known_;  // null: nothing is
};

}  // namespace paceline::uncertain

#pragma once

#include <array>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <span>
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
  // The logarithm of the step composed with these quantities over the one predicted, where it is at
  // hand: responses add quantities up.
  std::function<double(const std::array<double, quantities>& values)> composed = nullptr;

  [[nodiscard]] double moved(const std::array<double, quantities>& values) const;
};

// Of rows of one machine and workload, by the priors: the square of how many scales they lie from
// the centre together, and the logarithm of their density. 0 of no rows.
[[nodiscard]] double distance(const Priors& priors, std::span<const KnownRow> rows);
[[nodiscard]] double log_density(const Priors& priors, std::span<const KnownRow> rows);

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
  // Of a point that is known: its row, and as far towards it as quantities reach that are within
  // 99 % of their priors, which is what it is taken for. Where these differ by more than 5 %, as
  // far as steps differ by themselves, the row contradicts its description.
  struct Row {
    double measured = 0, counted = 0;

    [[nodiscard]] bool contradicts() const { return std::abs(measured - counted) > 0.05; }
  };
  std::optional<Row> row = std::nullopt;

  // The step is as its description has it.
  [[nodiscard]] bool is_as_described() const { return !row && values == decltype(values){}; }
  // What makes the interval widest; nullopt: what no quantity has.
  [[nodiscard]] std::optional<Unknown> widest() const;
};

// What is believed of a machine and workload: priors, conditioned by rows that are known. Rows
// together are taken for Student's, around the likeliest quantities (Laplace's approximation),
// which are followed from the description to the rows. A point that is a row is as that is; at
// points anywhere else quantities follow from the covariances between places.
class Belief {
 public:
  explicit Belief(const Priors& priors);  // told by published rows
  Belief(const Priors& priors, std::vector<KnownRow> rows);
  // `told_by`: whose rows these are, in words of a report.
  Belief(const Priors& priors, std::vector<KnownRow> rows, std::string told_by);

  [[nodiscard]] Believed of(const Response& response) const;

  // With one more row that is as it is expected to be, and as surprising as those known.
  [[nodiscard]] Belief expecting(KnownRow row) const;

  [[nodiscard]] const Priors& priors() const { return priors_; }
  [[nodiscard]] bool is_conditioned() const { return known_ != nullptr; }
  [[nodiscard]] const std::string& told_by() const { return told_by_; }
  [[nodiscard]] std::span<const KnownRow> rows() const;  // that it is told by

 private:
  struct Known;
  [[nodiscard]] double ends() const;
  [[nodiscard]] Believed of_row(std::size_t row) const;
  Priors priors_;
  std::string told_by_;
  std::shared_ptr<const Known> known_;  // null: nothing is
};

}  // namespace paceline::uncertain

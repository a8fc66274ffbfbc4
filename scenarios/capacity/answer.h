#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/capacity/predictor.h"
#include "scenarios/capacity/search.h"

namespace paceline::capacity {

struct Row {
  Plan plan;
  Promise promise;
};

// The best plan under one more condition.
struct Further {
  std::string words;        // "without EFA"
  std::optional<Row> best;  // nullopt: nothing meets the targets then
};

// The best plan of so many nodes, whatever the targets.
struct OfNodes {
  Row row;
  std::uint32_t nodes;
  double efficiency;  // throughput of a node, over that of a node of the fewest
};

// A measurement that would narrow a plan's figures.
struct Settling {
  Row row;               // whose figures are unsure
  std::string hangs_on;  // "the speed of one GPU (h100-sxm5-80gb): its step may be 28 % shorter..."
  std::string measure;   // "Train a minute on one ...", and where the number goes
  Seconds limit_after;   // from start to finish, if it is as expected
  Money limit_cost_after;
};

// What to rent or buy, and what that depends on.
struct Answer {
  Aim aim = Aim::cheapest;     // fastest where a budget is the only target
  std::optional<Row> best;     // meets the targets with the job's probability
  std::optional<Row> nearest;  // where none does
  std::vector<Row> others;     // the best of other machines that meet them, each of another machine
  // From the cheapest plan on, whatever the targets: each the cheapest that is twice as fast as the
  // one before, up to four times the least cost.
  std::vector<Row> front;
  std::vector<Further> further;
  // The fastest for 5 % more cost, or the cheapest for 10 % more time. nullopt: the best itself.
  std::optional<Row> nearby;
  // Of the machine and pricing of the best, or nearest, by nodes, ascending: the fewest, the most,
  // powers of two, and what is next to it. Empty where one number is all.
  std::vector<OfNodes> by_nodes;
  // Of these the one with the least time x cost, by limits: up to there more nodes divide the time
  // by more than they multiply the cost by.
  std::optional<std::uint32_t> knee_nodes;
  // From which on the efficiency is below 70 %.
  std::optional<std::uint32_t> inefficient_from_nodes;
  // The plan of another machine that would cost less if both are as likely; nullopt: none.
  std::optional<Row> would_win;
  std::vector<Settling> settling;  // of the best, and of what would win
  std::size_t setups = 0, predicted = 0, refused = 0;
  bool is_complete = true;  // else stopped: the best of those that were predicted by then
};

// When it is to stop (stop_request.h), of what was predicted by then. Throws what the predictor
// does, Stopped only where nothing was predicted that can run.
[[nodiscard]] Answer answer_of(const PlannedJob& job, const Grid& grid, Search& search,
                               const Predictor& predictor);

// The price of a node below which a plan that meets the targets costs less at most than the best;
// nullopt: for others, and where plans are compared by their time.
[[nodiscard]] std::optional<MoneyPerSecond> better_below(const PlannedJob& job, const Grid& grid,
                                                         const Answer& answer, const Row& row);

// For people: "3 d 4 h", "6 h", "2 h 31 min", "46 min", "4 min 10 s"; "never" of what has no end.
[[nodiscard]] std::string in_words(Seconds time);
// For tables: "4.43 h", "68.9 min", "5.6 d".
[[nodiscard]] std::string in_one_unit(Seconds time);

// A calendar date, by days since 1970-01-01.
struct Today {
  long days = 0;
};
[[nodiscard]] Today today();
// " (12 days old)" of a date as 2026-11-26; empty of what is none.
[[nodiscard]] std::string age_of(const std::string& date, Today today);

// One screen for a planner.
void write_answer(std::ostream& out, const PlannedJob& job, const Grid& grid, const Answer& answer,
                  const Predictor& predictor, Today today);

// paceline.capacity/1: one object and a line break; SI units and the job's currency, in the keys.
void write_json(std::ostream& out, const PlannedJob& job, const Grid& grid, const Answer& answer,
                const Predictor& predictor);

}  // namespace paceline::capacity

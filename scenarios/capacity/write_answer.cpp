#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <map>
#include <ostream>
#include <set>

#include "models/units/parse.h"
#include "scenarios/capacity/answer.h"
#include "scenarios/capacity/duration_text.h"
#include "scenarios/line_width.h"
#include "scenarios/text_table.h"

namespace paceline::capacity {
namespace {

std::string percent(double part) { return fmt::format("{:+.0f} %", 100 * part); }

std::string plural(std::uint32_t count, std::string_view one, std::string_view more) {
  return fmt::format("{} {}", count, count == 1 ? one : more);
}

class Writer {
 public:
  Writer(std::ostream& out, const PlannedJob& job, const Grid& grid, const Answer& answer,
         const Predictor& predictor, Today today)
      : out_(out), job_(job), grid_(grid), answer_(answer), predictor_(predictor), today_(today) {}

  void write() {
    line(fmt::format("{}: {}", job_.name, question()));
    out_ << '\n';
    if (answer_.best) {
      write_best(*answer_.best);
    } else {
      line(fmt::format("Nothing meets that with {} probability. What comes nearest:",
                       probability(job_.probability)));
      if (answer_.nearest) write_best(*answer_.nearest);
    }
    write_rows();
    write_further();
    write_settling();
    write_footing();
  }

 private:
  void line(const std::string& text) { write_line(out_, text); }

  [[nodiscard]] const Setup& setup(const Row& row) const {
    return grid_.candidates[row.plan.candidate].setup;
  }
  [[nodiscard]] const Machine& machine(const Row& row) const {
    return job_.machines[setup(row).machine];
  }
  [[nodiscard]] std::string money(Money amount) const { return to_text(amount, job_.currency); }

  static std::string probability(double part) {
    const double percent = 100 * part;
    if (percent > 99.9) return "over 99.9 %";
    return percent < 1 ? "under 1 %" : fmt::format("{:.3g} %", percent);
  }

  [[nodiscard]] std::string question() const {
    std::vector<std::string> wanted;
    if (job_.targets.deadline) wanted.push_back("within " + in_words(*job_.targets.deadline));
    if (job_.targets.throughput) {
      wanted.push_back(fmt::format("at {:.6g} samples/s", job_.targets.throughput->value()));
    }
    if (job_.targets.budget) wanted.push_back("for at most " + money(*job_.targets.budget));
    return fmt::format("{} {}, with {} probability", job_.amount, fmt::join(wanted, ", "),
                       probability(job_.probability));
  }

  [[nodiscard]] std::string pricing(const Row& row) const {
    if (machine(row).is_owned) return "own";
    return std::string(to_text(row.plan.pricing));
  }

  [[nodiscard]] std::string strategy(const Row& row) const {
    if (gpus_of(job_, setup(row)) == 1) return "one GPU";
    const PlannedJob::Strategy& strategy = job_.strategies[setup(row).strategy];
    if (strategy.bucket_cap.empty()) return strategy.name;
    return fmt::format("{} {}", strategy.name, strategy.bucket_cap);
  }

  [[nodiscard]] MoneyPerSecond rate(const Row& row) const {
    const Machine& kind = machine(row);
    return (row.plan.pricing == Pricing::spot ? kind.spot->price : *kind.price) * setup(row).nodes;
  }

  void write_best(const Row& row) {
    const Setup& made = setup(row);
    const Machine& kind = machine(row);
    const std::string region = kind.region.empty() ? "" : ", " + kind.region;
    const Promise& promise = row.promise;
    line(fmt::format("  {:<9}{} x {}: {} of {}{}", kind.is_owned ? "use" : "rent", made.nodes,
                     kind.full_name(), plural(gpus_of(job_, made), "GPU", "GPUs"), kind.device,
                     kind.is_owned ? "" : fmt::format(" ({}{})", pricing(row), region)));
    line(fmt::format("  {:<9}{}, {} samples a GPU{}, {:.0f} a step", "train", strategy(row),
                     made.batch, made.passes > 1 ? fmt::format(" x {} passes", made.passes) : "",
                     samples_per_step(job_, made)));
    line(fmt::format("  {:<9}{} likely, {} at most with {}", "time", in_words(promise.likely),
                     in_words(promise.sure), probability(job_.probability)));
    line(fmt::format("  {:<9}{} likely, {} at most with {}; {}", "cost", money(promise.likely_cost),
                     money(promise.sure_cost), probability(job_.probability),
                     to_text(rate(row), job_.currency)));
    line(fmt::format("  {:<9}{:.0f} samples/s likely, {:.0f} at least with {}", "speed",
                     promise.likely_throughput.value(), promise.sure_throughput.value(),
                     probability(job_.probability)));
    line(fmt::format("  {:<9}{} that it meets {}", "sure", probability(promise.probability),
                     target_count() > 1 ? "all targets" : "the target"));
    out_ << '\n';
  }

  [[nodiscard]] int target_count() const {
    return int{job_.targets.deadline.has_value()} + int{job_.targets.throughput.has_value()} +
           int{job_.targets.budget.has_value()};
  }

  [[nodiscard]] std::vector<std::string> cells(const std::string& what, const Row& row) const {
    const Setup& made = setup(row);
    const Promise& promise = row.promise;
    const Speed speed = speed_of(*predictor_.outcome(made));
    const std::string paid =
        row.plan.pricing == Pricing::spot ? fmt::format(", {}", to_text(row.plan.pricing)) : "";
    return {what,
            machine(row).full_name() + paid,
            std::to_string(made.nodes),
            std::to_string(gpus_of(job_, made)),
            fmt::format("{}, {}{}", strategy(row), made.batch,
                        made.passes > 1 ? fmt::format(" x {}", made.passes) : ""),
            fmt::format("{:+.0f}% {:+.0f}%{}", 100 * std::expm1(speed.low),
                        100 * std::expm1(speed.high),
                        grid_.machines[made.machine].speed_is_modelled ? "*" : ""),
            range_in_words(promise.likely, promise.sure),
            fmt::format("{} - {}", number(promise.likely_cost), number(promise.sure_cost)),
            probability(promise.probability)};
  }

  // Without its currency.
  [[nodiscard]] std::string number(Money amount) const {
    const std::string text = money(amount);
    return text.substr(0, text.find(' '));
  }

  void write_rows() {
    const std::string sure = probability(job_.probability);
    TextTable table({"", "machine", "nodes", "GPUs", "strategy, batch", "step, 90%",
                     fmt::format("time, likely - {}", sure),
                     fmt::format("{}, likely - {}", job_.currency, sure), "meets it"},
                    2);
    std::set<Plan> shown;
    const auto add = [&](const std::string& what, const Row& row) {
      if (shown.insert(row.plan).second) table.add(cells(what, row));
    };
    if (answer_.best) add("best", *answer_.best);
    for (const Row& row : answer_.others) add("next", row);
    if (answer_.would_win) add("may win", *answer_.would_win);
    for (const Row& row : answer_.front) {
      add(&row == &answer_.front.front() ? "cheapest" : "faster", row);
    }
    table.write(out_);
    if (std::ranges::any_of(shown, [&](const Plan& plan) {
          return grid_.machines[grid_.candidates[plan.candidate].setup.machine].speed_is_modelled;
        })) {
      line(
          "* nobody measured one of these GPUs with this model: its speed is modelled, which makes "
          "the interval wide");
    }
    out_ << '\n';
  }

  // What plans are compared by, of the job's probability.
  [[nodiscard]] bool by_cost() const { return answer_.aim == Aim::cheapest; }
  [[nodiscard]] double compared(const Promise& promise) const {
    return by_cost() ? promise.sure_cost.value() : promise.sure.value();
  }
  [[nodiscard]] std::string compared_text(Seconds time, Money cost) const {
    return by_cost() ? money(cost) : in_words(time);
  }

  void write_further() {
    if (answer_.further.empty()) return;
    line(fmt::format("What more would change, in {} at {}:", by_cost() ? "cost" : "time",
                     probability(job_.probability)));
    const double now = compared(answer_.best->promise);
    for (const Further& one : answer_.further) {
      if (!one.best) {
        line(fmt::format("  {}: nothing meets the target", one.words));
        continue;
      }
      const Promise& then = one.best->promise;
      line(fmt::format("  {}: {} ({}), {} x {}", one.words, percent(compared(then) / now - 1),
                       compared_text(then.sure, then.sure_cost), setup(*one.best).nodes,
                       machine(*one.best).full_name()));
    }
    out_ << '\n';
  }

  // How much slower the best may be before the next one is as good.
  void write_margin() {
    if (!answer_.best || answer_.others.empty()) return;
    const Row& next = answer_.others.front();
    const double margin = compared(next.promise) / compared(answer_.best->promise) - 1;
    if (margin <= 0) return;
    line(
        fmt::format("The next, {}, is the better one if steps of the best are {:.3g} % slower than "
                    "this and its "
                    "own are not.",
                    machine(next).full_name(), 100 * margin));
  }

  void write_settling() {
    write_margin();
    for (const Settling& one : answer_.settling) {
      const bool is_best = answer_.best && one.row.plan == answer_.best->plan;
      line(fmt::format("{}{}.", is_best ? "It hangs on " : "Another may be better, by ",
                       one.hangs_on));
      line(fmt::format("  To settle it: {}", one.measure));
      line(fmt::format("  At {} it is then {} and not {}, if the number is as expected.",
                       probability(job_.probability),
                       compared_text(one.sure_after, one.sure_cost_after),
                       compared_text(one.row.promise.sure, one.row.promise.sure_cost)));
    }
    if (!answer_.settling.empty()) out_ << '\n';
  }

  // What the prices are of, how much was looked at, and what is not in it.
  void write_footing() {
    std::map<std::string, std::set<std::string>> dates;
    for (const Machine& one : job_.machines) {
      if (!one.date.empty()) dates[one.date].insert(one.catalogue);
    }
    for (const auto& [date, catalogues] : dates) {
      line(fmt::format("prices: {} of {}{}", fmt::join(catalogues, ", "), date, age_of(date)));
    }
    line(fmt::format(
        "looked at: {} setups of {} machines; {} were predicted, and bounds leave no better one "
        "among the others{}",
        answer_.setups, job_.machines.size() - grid_.left_out.size(), answer_.predicted,
        answer_.refused > 0 ? fmt::format("; {} of them cannot run", answer_.refused) : ""));
    write_left_out();
    line(footnote());
  }

  // Each reason once, with how many machines it is of.
  void write_left_out() {
    std::map<std::string, std::vector<std::string>> by_reason;
    for (const LeftOut& one : grid_.left_out) {
      by_reason[one.why].push_back(job_.machines[one.machine].full_name());
    }
    for (const auto& [why, machines] : by_reason) {
      const std::string more =
          machines.size() > 1 ? fmt::format(" and {} more", machines.size() - 1) : "";
      line(fmt::format("left out: {}{}: {}", machines.front(), more, why));
    }
    if (job_.machines_elsewhere > 0) {
      line(fmt::format(
          "left out: {}, in other regions",
          plural(static_cast<std::uint32_t>(job_.machines_elsewhere), "machine", "machines")));
    }
  }

  [[nodiscard]] std::string footnote() const {
    std::vector<std::string> counted;
    if (job_.overheads.start > Seconds(0)) counted.emplace_back("start-up");
    if (job_.overheads.checkpoint) counted.emplace_back("checkpoints");
    if (job_.overheads.mtbf_per_node) counted.emplace_back("failures");
    std::string text = counted.empty()
                           ? "time: steps alone; start-up, checkpoints and failures are not given"
                           : fmt::format("time: steps, {}", fmt::join(counted, ", "));
    const bool is_spot = answer_.best && answer_.best->plan.pricing == Pricing::spot;
    if (is_spot && !machine(*answer_.best).spot->preemptions_per_s) {
      text += "; nobody says how often spot nodes are taken away: none are counted";
    }
    return text +
           "; cost: nodes alone, no storage or traffic; input is taken to keep up; a tenth of "
           "each GPU's memory is kept free";
  }

  [[nodiscard]] std::string age_of(const std::string& date) const {
    int year = 0;
    unsigned month = 0, day = 0;
    if (std::sscanf(date.c_str(), "%d-%u-%u", &year, &month, &day) != 3) return "";
    const std::chrono::sys_days of{std::chrono::year{year} / std::chrono::month{month} /
                                   std::chrono::day{day}};
    const long days = today_.days - of.time_since_epoch().count();
    if (days < 0) return ", which is to come";
    if (days == 0) return ", today";
    return fmt::format(", {} old", days == 1 ? "a day" : fmt::format("{} days", days));
  }

  std::ostream& out_;
  const PlannedJob& job_;
  const Grid& grid_;
  const Answer& answer_;
  const Predictor& predictor_;
  Today today_;
};

}  // namespace

Today today() {
  using std::chrono::days;
  using std::chrono::floor;
  const auto now = floor<days>(std::chrono::system_clock::now());
  return {now.time_since_epoch().count()};
}

void write_answer(std::ostream& out, const PlannedJob& job, const Grid& grid, const Answer& answer,
                  const Predictor& predictor, Today today) {
  Writer(out, job, grid, answer, predictor, today).write();
}

}  // namespace paceline::capacity

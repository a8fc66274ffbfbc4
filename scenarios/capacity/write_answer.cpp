#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <ostream>
#include <set>

#include "models/text/number.h"
#include "models/units/parse.h"
#include "scenarios/capacity/answer.h"
#include "scenarios/remarks.h"
#include "scenarios/text_form.h"
#include "scenarios/text_table.h"

namespace paceline::capacity {
namespace {

// How much a decision may change by a remark.
namespace weight {
constexpr int modelled = 5, unsure = 4, other_machine = 3, prices = 2, not_counted = 1;
constexpr int other_unsure = 0;
}  // namespace weight

std::string percent(double part) { return fmt::format("{:+.0f} %", 100 * part); }

std::string chance(double part) {
  const double percent = 100 * part;
  if (percent > 99.9) return "over 99.9 %";
  return percent < 1 ? "under 1 %" : fmt::format("{:.3g} %", percent);
}

class Writer {
 public:
  Writer(std::ostream& out, const PlannedJob& job, const Grid& grid, const Answer& answer,
         const Predictor& predictor, Today today)
      : out_(out), job_(job), grid_(grid), answer_(answer), predictor_(predictor), today_(today) {}

  void write() {
    write_headline(out_, fmt::format("{}: {}", job_.name, question()));
    if (!answer_.is_complete) {
      line(fmt::format("unfinished: {} of {} plans were predicted; others may be better",
                       answer_.predicted, in_thousands(static_cast<double>(answer_.setups))));
    }
    if (answer_.best) {
      write_plan(*answer_.best);
    } else {
      line(fmt::format("{} meets that with {} probability. The nearest one:",
                       answer_.is_complete ? "No plan" : "None of these",
                       chance(job_.probability)));
      if (answer_.nearest) {
        write_plan(*answer_.nearest);
      } else {
        line("  none: every plan loses nodes faster than it makes progress");
        out_ << '\n';
      }
    }
    write_rows();
    write_by_nodes();
    add_sureness();
    add_further();
    add_footing();
    if (const auto& shown = answer_.best ? answer_.best : answer_.nearest) {
      remarks_.assume(predictor_.outcome(setup(*shown))->assumptions);
    }
    remarks_.write(out_);
  }

 private:
  void line(const std::string& text) { write_line(out_, text); }

  [[nodiscard]] const Setup& setup(const Row& row) const {
    return grid_.candidates[row.plan.candidate].setup;
  }
  [[nodiscard]] const Machine& machine(const Row& row) const {
    return job_.machines[setup(row).machine];
  }
  [[nodiscard]] bool is_modelled(const Row& row) const {
    return grid_.machines[setup(row).machine].speed_is_modelled;
  }
  [[nodiscard]] std::string money(Money amount) const { return to_text(amount, job_.currency); }
  [[nodiscard]] std::string probability() const { return chance(job_.probability); }

  // What plans are compared by: their cost, or their time where a budget is all that is asked.
  [[nodiscard]] bool by_cost() const { return answer_.aim == Aim::cheapest; }
  [[nodiscard]] double compared(const Promise& promise) const {
    return by_cost() ? promise.limit_cost.value() : promise.limit.value();
  }
  [[nodiscard]] std::string compared_text(Seconds time, Money cost) const {
    return by_cost() ? money(cost) : in_words(time);
  }

  [[nodiscard]] std::string question() const {
    std::vector<std::string> wanted;
    if (job_.targets.deadline) wanted.push_back("within " + in_words(*job_.targets.deadline));
    if (job_.targets.throughput) {
      wanted.push_back(
          fmt::format("at {} samples/s", in_thousands(job_.targets.throughput->value())));
    }
    if (job_.targets.budget) wanted.push_back("for at most " + money(*job_.targets.budget));
    return fmt::format("{}, {}, with {} probability", job_.amount, fmt::join(wanted, ", "),
                       probability());
  }

  // "2 nodes of oci BM.GPU.B200.8, spot".
  [[nodiscard]] std::string nodes_of(const Row& row) const {
    return fmt::format("{} of {}", counted(setup(row).nodes, "node"), name_of(row));
  }
  [[nodiscard]] std::string name_of(const Row& row) const {
    if (row.plan.pricing == Pricing::on_demand) return machine(row).full_name();
    return fmt::format("{}, {}", machine(row).full_name(), pricing(row));
  }
  // "on demand", "reserved for 1y".
  [[nodiscard]] std::string pricing(const Row& row) const {
    const std::string text(to_text(row.plan.pricing));
    if (row.plan.pricing != Pricing::reserved) return text;
    return fmt::format("{} for {}", text, machine(row).reserved->words);
  }

  [[nodiscard]] std::string strategy(const Row& row) const {
    if (gpus_of(job_, setup(row)) == 1) return "one GPU";
    const PlannedJob::Strategy& strategy = job_.strategies[setup(row).strategy];
    if (strategy.bucket_cap.empty()) return strategy.name;
    return fmt::format("{} {}", strategy.name, strategy.bucket_cap);
  }

  [[nodiscard]] std::string batch(const Row& row) const {
    const Setup& made = setup(row);
    return made.passes > 1 ? fmt::format("{} x {}", made.batch, made.passes)
                           : std::to_string(made.batch);
  }

  [[nodiscard]] std::string trained_by(const Row& row) const {
    const bool has_cap = !job_.strategies[setup(row).strategy].bucket_cap.empty();
    const bool is_alone = gpus_of(job_, setup(row)) == 1;
    return strategy(row) + (has_cap && !is_alone ? " buckets" : "");
  }

  [[nodiscard]] MoneyPerSecond rate(const Row& row) const {
    return *machine(row).price_of(row.plan.pricing) * setup(row).nodes;
  }

  void write_plan(const Row& row) {
    const Setup& made = setup(row);
    const Machine& kind = machine(row);
    const Promise& promise = row.promise;
    const auto part = [&](const char* name, const std::string& text) {
      line(fmt::format("  {:<9}{}", name, text));
    };
    const std::string paid =
        kind.is_owned
            ? "of one's own"
            : fmt::format("{}{}", pricing(row), kind.region.empty() ? "" : ", " + kind.region);
    part(kind.is_owned ? "use" : "rent",
         fmt::format("{} of {} ({} x {}), {}", counted(made.nodes, "node"), kind.full_name(),
                     gpus_of(job_, made), kind.device, paid));
    part("train", fmt::format("{}; {} per GPU{}, {} per step", trained_by(row),
                              counted(made.batch, "sample"),
                              made.passes > 1 ? fmt::format(" x {} passes", made.passes) : "",
                              in_thousands(samples_per_step(job_, made))));
    part("time", fmt::format("{} median; with {} probability at most {}", in_words(promise.median),
                             probability(), in_words(promise.limit)));
    part("cost",
         fmt::format("{} median; with {} probability at most {}; {}{}", money(promise.median_cost),
                     probability(), money(promise.limit_cost), to_text(rate(row), job_.currency),
                     kind.is_owned ? " of depreciation, upkeep and power"
                     : row.plan.pricing == Pricing::reserved
                         ? " of a commitment of " + money(rate(row) * kind.reserved->term)
                         : ""));
    part("speed", fmt::format("{} samples/s median; with {} probability at least {}",
                              in_thousands(promise.median_throughput.value()), probability(),
                              in_thousands(promise.limit_throughput.value())));
    if (const std::string limit = limit_of_input(row); !limit.empty()) part("input", limit);
    part("chance", fmt::format("{} of meeting {}", chance(promise.probability),
                               target_count() > 1 ? "all targets" : "the target"));
    if (answer_.nearby && answer_.best) {
      part("nearby", fmt::format("{}: {} and {} at {}", nodes_of(*answer_.nearby),
                                 in_words(answer_.nearby->promise.limit),
                                 money(answer_.nearby->promise.limit_cost), probability()));
    }
    if (answer_.knee_nodes) part("nodes", what_nodes_buy(made.nodes));
    out_ << '\n';
  }

  // "limits it: 8 vCPUs get about 800 samples/s ready per node (400 to 1,600), its GPUs train
  // 1,206; ..."; empty: GPUs and links are likelier to.
  [[nodiscard]] std::string limit_of_input(const Row& row) const {
    const Speed speed = speed_of(job_, setup(row), *predictor_.outcome(setup(row)));
    if (speed.input.within(0.5) <= speed.step) return "";
    const auto rate = [&](Seconds step) {
      return in_thousands(speed.samples_per_step / setup(row).nodes / step.value());
    };
    const std::string trained = fmt::format("its GPUs could train {}", rate(speed.step));
    if (!speed.is_bound_by_cpus()) {
      return fmt::format("limits it: its disk reads {} samples/s per node, and {}",
                         rate(speed.input.disk), trained);
    }
    const UncertainTime& cpus = speed.input.cpus;
    const std::string ends =
        cpus.high > 0 ? fmt::format(" ({} to {})", rate(cpus.within(0.95)), rate(cpus.within(0.05)))
                      : "";
    return fmt::format(
        "limits it: {:.0f} vCPUs{} get about {} samples/s ready per node{}, and {}; more vCPUs per "
        "GPU, smaller images or decoding on GPUs (DALI, `input: {{kind: none}}`) relieve it",
        vcpus_of(machine(row)), machine(row).vcpus ? "" : " (not told)", rate(cpus.likeliest), ends,
        trained);
  }

  // "7: 5 h 5 min and 63.48 USD at 90 %; least time x cost with 16; efficiency below 70 % from 32".
  [[nodiscard]] std::string what_nodes_buy(std::uint32_t nodes) const {
    const OfNodes& most = answer_.by_nodes.back();
    std::vector<std::string> parts{
        fmt::format("least time x cost with {}", *answer_.knee_nodes),
        answer_.inefficient_from_nodes
            ? fmt::format("efficiency below 70 % from {} on", *answer_.inefficient_from_nodes)
            : fmt::format("efficiency {:.0f} % with {}", 100 * most.efficiency, most.nodes)};
    const auto next = std::ranges::upper_bound(answer_.by_nodes, nodes, {}, &OfNodes::nodes);
    if (next != answer_.by_nodes.end()) {
      const Promise& promise = next->row.promise;
      parts.insert(parts.begin(),
                   fmt::format("{}: {} and {} at {}", next->nodes, in_words(promise.limit),
                               money(promise.limit_cost), probability()));
    }
    return fmt::format("{}", fmt::join(parts, "; "));
  }

  [[nodiscard]] int target_count() const {
    return int{job_.targets.deadline.has_value()} + int{job_.targets.throughput.has_value()} +
           int{job_.targets.budget.has_value()};
  }

  [[nodiscard]] std::vector<std::string> cells(const std::string& what, const Row& row,
                                               bool marks_modelled) const {
    const Setup& made = setup(row);
    const Promise& promise = row.promise;
    const Speed speed = speed_of(job_, made, *predictor_.outcome(made));
    const auto part_of_median = [&](double probability) {
      return 100 * (speed.step_within(probability) / speed.step_within(0.5) - 1);
    };
    const auto number = [&](Money amount) {
      const std::string text = money(amount);
      return text.substr(0, text.find(' '));
    };
    return {what,
            name_of(row),
            std::to_string(made.nodes),
            std::to_string(gpus_of(job_, made)),
            strategy(row),
            batch(row),
            fmt::format("{:+.0f}% {:+.0f}%{}", part_of_median(0.05), part_of_median(0.95),
                        marks_modelled && is_modelled(row) ? "*" : ""),
            in_one_unit(promise.median),
            in_one_unit(promise.limit),
            number(promise.median_cost),
            number(promise.limit_cost),
            chance(promise.probability)};
  }

  // Each plan once, by what it is beside the best.
  [[nodiscard]] std::vector<std::pair<std::string, Row>> rows() const {
    std::vector<std::pair<std::string, Row>> rows;
    const auto add = [&](const std::string& what, const Row& row) {
      const bool is_there = std::ranges::any_of(
          rows, [&](const auto& other) { return other.second.plan == row.plan; });
      if (!is_there) rows.emplace_back(what, row);
    };
    if (answer_.best) add("best", *answer_.best);
    for (const Row& row : answer_.others) add("runner-up", row);
    if (answer_.nearby) add("nearby", *answer_.nearby);
    if (answer_.would_win) {
      const bool meets = answer_.would_win->promise.probability >= job_.probability;
      add(meets ? "better median" : "better median, misses", *answer_.would_win);
    }
    for (const Row& row : answer_.front) {
      const bool meets = row.promise.probability >= job_.probability;
      const bool is_cheapest = &row == &answer_.front.front();
      if (is_cheapest) {
        add(meets ? "cheapest" : "cheapest, misses", row);
      } else if (!answer_.best || row.promise.limit < answer_.best->promise.limit) {
        add(meets ? "faster, dearer" : "faster, misses", row);
      }
    }
    return rows;
  }

  void write_rows() {
    const std::string limit = probability() + " limit";
    TextTable table({"", "machine", "nodes", "GPUs", "strategy", "batch", "step range",
                     "time, median", limit, job_.currency + ", median", limit, "chance"},
                    2);
    const auto all = rows();
    if (all.empty()) return;
    const auto modelled = [&](const auto& one) { return is_modelled(one.second); };
    const bool are_all_modelled = std::ranges::all_of(all, modelled);
    for (const auto& [what, row] : all) table.add(cells(what, row, !are_all_modelled));
    table.write(out_);
    if (are_all_modelled) {
      remarks_.add(
          weight::modelled,
          "speeds are modelled: none of these GPUs was measured with this model, hence the "
          "wide ranges");
    } else if (std::ranges::any_of(all, modelled)) {
      remarks_.add(weight::modelled,
                   "* this GPU was not measured with this model: its speed is modelled, hence the "
                   "wide range");
    }
  }

  void write_by_nodes() {
    const TextForm form = text_form(out_);
    if (answer_.by_nodes.empty() || !(form.lists_assumptions || form.is_markdown)) return;
    const std::string limit = probability() + " limit";
    TextTable table(
        {"nodes", "strategy", "batch", "time, median", limit, "cost, median", limit, "efficiency"},
        0);
    for (const auto& [row, nodes, efficiency] : answer_.by_nodes) {
      const Promise& promise = row.promise;
      table.add({std::to_string(nodes), strategy(row), batch(row), in_one_unit(promise.median),
                 in_one_unit(promise.limit), money(promise.median_cost), money(promise.limit_cost),
                 fmt::format("{:.0f} %", 100 * efficiency)});
    }
    out_ << '\n';
    line(fmt::format("{} by number of nodes, whatever the targets:",
                     name_of(answer_.by_nodes.front().row)));
    table.write(out_);
    remarks_.add_detail(
        "efficiency: throughput per node over that of the fewest nodes; up to the least time x "
        "cost more nodes divide the time by more than they multiply the cost by");
  }

  void add_further() {
    if (answer_.further.empty() || !answer_.best) return;
    std::vector<std::pair<std::optional<Row>, std::vector<std::string>>> grouped;
    for (const Further& one : answer_.further) {
      const auto same = std::ranges::find_if(grouped, [&](const auto& other) {
        return other.first.has_value() == one.best.has_value() &&
               (!one.best || other.first->plan == one.best->plan);
      });
      if (same != grouped.end()) {
        same->second.push_back(one.words);
      } else {
        grouped.push_back({one.best, {one.words}});
      }
    }
    remarks_.add_detail(fmt::format("with one more condition the {} limit of {} would be:",
                                    probability(), by_cost() ? "the cost" : "the time"));
    for (const auto& [best, words] : grouped) {
      const std::string conditions = fmt::format("{}", fmt::join(words, ", or "));
      if (!best) {
        remarks_.add_detail(fmt::format("  {}: no plan meets the target", conditions));
        continue;
      }
      const double change = compared(best->promise) / compared(answer_.best->promise) - 1;
      remarks_.add_detail(fmt::format("  {}: {} ({}), {}", conditions,
                                      compared_text(best->promise.limit, best->promise.limit_cost),
                                      percent(change), nodes_of(*best)));
    }
  }

  // At which price of theirs runners-up would be chosen, and the first of another GPU at which
  // step.
  void add_what_changes_the_choice() {
    std::string words;
    bool has_steps = false;
    for (const Row& other : answer_.others) {
      std::string condition;
      if (const auto price = better_below(job_, grid_, answer_, other)) {
        condition = fmt::format(" below {} a node", to_text(*price, job_.currency));
      }
      if (!has_steps && machine(other).device != machine(*answer_.best).device) {
        has_steps = true;
        condition +=
            fmt::format("{} if the best plan's steps take {:.0f} % longer than predicted",
                        condition.empty() ? "" : ", or",
                        100 * (compared(other.promise) / compared(answer_.best->promise) - 1));
      }
      if (condition.empty()) continue;
      words += (words.empty() ? "" : "; ") + name_of(other) +
               (words.empty() ? " becomes the better choice" : "") + condition;
    }
    remarks_.add(weight::other_machine, words);
  }

  void add_sureness() {
    if (!answer_.best) return;
    add_what_changes_the_choice();
    std::string measured;
    for (const Settling& one : answer_.settling) {
      const bool is_best = one.row.plan == answer_.best->plan;
      remarks_.add(is_best ? weight::unsure : weight::other_unsure,
                   fmt::format("widest interval: {} depends most on {}",
                               is_best ? "this plan" : nodes_of(one.row), one.hangs_on));
      const std::string after = fmt::format(
          "if the result is as predicted, the {} limit goes from {} to {}", probability(),
          compared_text(one.row.promise.limit, one.row.promise.limit_cost),
          compared_text(one.limit_after, one.limit_cost_after));
      remarks_.add(is_best ? weight::unsure : weight::other_unsure,
                   one.measure == measured
                       ? fmt::format("the same measurement: {}", after)
                       : fmt::format("measure next: {}; {}", one.measure, after));
      measured = one.measure;
    }
  }

  // The dates of all prices: "from 2026-09-20 (79 days old) to 2026-11-09 (29 days old), 4 of 9 of
  // unknown date".
  [[nodiscard]] std::string dates() const {
    std::set<std::string> known;
    for (const Machine& one : job_.machines) known.insert(one.date);
    known.erase("unknown");
    const auto unknown = std::ranges::count(job_.machines, "unknown", &Machine::date);
    const auto aged = [&](const std::string& date) { return date + age_of(date, today_); };
    std::string text;
    if (known.size() == 1) text = "of " + aged(*known.begin());
    if (known.size() > 1) {
      text = fmt::format("from {} to {}", aged(*known.begin()), aged(*known.rbegin()));
    }
    if (unknown == 0) return text;
    return fmt::format("{}{}{} of {} of unknown date", text, text.empty() ? "" : ", ", unknown,
                       job_.machines.size());
  }

  // The lowest and highest price of the best plan's GPU: "; l4 costs 0.7 to 1.1 USD per GPU-hour in
  // 3 catalogues". Empty where one catalogue alone has it.
  [[nodiscard]] std::string spread() const {
    const auto& shown = answer_.best ? answer_.best : answer_.nearest;
    if (!shown) return "";
    const std::string& device = machine(*shown).device;
    std::set<std::string> catalogues;
    std::set<MoneyPerSecond> prices;
    for (const Machine& one : job_.machines) {
      const auto price = one.price_of(shown->plan.pricing);
      if (!price || one.is_owned || one.device != device) continue;
      catalogues.insert(one.catalogue);
      prices.insert(*price / one.gpus_per_node);
    }
    if (catalogues.size() < 2) return "";
    constexpr Seconds hour(3600);
    return fmt::format("; {} costs {:.3g} to {:.3g} {} per GPU-hour in {} catalogues", device,
                       (*prices.begin() * hour).value(), (*prices.rbegin() * hour).value(),
                       job_.currency, catalogues.size());
  }

  void add_footing() {
    remarks_.add(weight::prices, fmt::format("prices: {}{}", dates(), spread()));
    if (const auto risks = untold_risks(); !risks.empty()) {
      remarks_.add(weight::prices,
                   fmt::format("not told, so counted as risks: {}", fmt::join(risks, "; ")));
    }
    if (!job_.overheads.checkpoint) {
      remarks_.add_detail(fmt::format("checkpoints: {} each, as often as loses least",
                                      in_words(untold::checkpoint)));
    }
    remarks_.add(weight::not_counted, "not counted: " + not_counted());
    if (job_.input.per_core) {
      remarks_.add_detail(
          fmt::format("input: a core, two vCPUs, gets {} samples/s ready ({}){}",
                      in_thousands(job_.input.per_core->value()), to_text(job_.input.kind),
                      job_.input.factor > 1
                          ? fmt::format("; 90 % are within a factor of {:.2g}", job_.input.factor)
                          : ""));
    }
    remarks_.add_detail("counted: " + what_is_counted());
    remarks_.add_detail(fmt::format(
        "median: as likely to be higher as lower; limit: not exceeded with {} probability",
        probability()));
    remarks_.add_detail(
        "step range: how much shorter or longer a step may be than predicted, with 90 % "
        "probability");
    const std::size_t machines = job_.machines.size() - grid_.left_out.size();
    remarks_.add_detail(fmt::format(
        "search: {} plans on {}; {} were predicted in full{}{}",
        in_thousands(static_cast<double>(answer_.setups)), counted(machines, "machine"),
        answer_.predicted, answer_.is_complete ? ", and no other of the grid can be better" : "",
        answer_.refused > 0 ? fmt::format("; {} of them cannot run", answer_.refused) : ""));
    add_left_out();
  }

  // Each reason once, with how many machines it is of.
  void add_left_out() {
    std::map<std::string, std::vector<std::string>> by_reason;
    for (const LeftOut& one : grid_.left_out) {
      by_reason[one.why].push_back(job_.machines[one.machine].full_name());
    }
    for (const auto& [why, machines] : by_reason) {
      const std::string more =
          machines.size() > 1 ? fmt::format(" and {} more", machines.size() - 1) : "";
      remarks_.add_detail(fmt::format("left out: {}{}: {}", machines.front(), more, why));
    }
    if (job_.machines_elsewhere > 0) {
      remarks_.add_detail(fmt::format("left out: {} in other regions", job_.machines_elsewhere));
    }
  }

  [[nodiscard]] std::string what_is_counted() const {
    return fmt::format(
        "steps, start-up, checkpoints, failures{}, a tenth of each GPU's memory kept free",
        shows_spot() ? ", preemptions" : "");
  }

  [[nodiscard]] std::vector<std::string> untold_risks() const {
    std::vector<std::string> risks;
    if (!job_.overheads.start) {
      risks.push_back(fmt::format("start-up ({} to {})",
                                  in_words(untold::start / untold::start_width),
                                  in_words(untold::start * untold::start_width)));
    }
    if (!job_.overheads.mtbf_per_node) {
      risks.push_back(fmt::format("failures (one in {} GPU-hours on average)",
                                  in_thousands(1 / (untold::failures.mean * 3600))));
    }
    if (job_.input.per_core && shows([&](const Row& row) { return !machine(row).vcpus; })) {
      risks.push_back(
          fmt::format("vCPUs ({:.0f} a GPU, 90 % within a factor of {:.1f}; set `vcpus`)",
                      untold::vcpus_per_gpu, untold::vcpus_factor));
    }
    if (shows_unknown_preemptions()) {
      risks.emplace_back(
          "preemptions (2.5 % of spot nodes an hour on average, with even odds below 0.44 %; set "
          "`spot: {price, preemptions}`)");
    }
    return risks;
  }

  [[nodiscard]] bool shows(const std::function<bool(const Row&)>& is_one) const {
    const auto all = rows();
    return std::ranges::any_of(all, [&](const auto& one) { return is_one(one.second); }) ||
           std::ranges::any_of(answer_.further,
                               [&](const Further& one) { return one.best && is_one(*one.best); });
  }
  [[nodiscard]] bool shows_spot() const {
    return shows([](const Row& row) { return row.plan.pricing == Pricing::spot; });
  }
  // Whether nobody says how often the nodes of a plan that is shown are taken away.
  [[nodiscard]] bool shows_unknown_preemptions() const {
    return shows([&](const Row& row) {
      return row.plan.pricing == Pricing::spot && !machine(row).spot->preemptions_per_s;
    });
  }

  // Or they have nothing to do.
  [[nodiscard]] bool counts_cpus() const {
    return job_.input.per_core || job_.input.kind == InputKind::tokens;
  }

  [[nodiscard]] std::string not_counted() const {
    std::vector<std::string> parts;
    const auto& shown = answer_.best ? answer_.best : answer_.nearest;
    if (!shown) return "storage and traffic";
    const Row& row = *shown;
    const double rate = row.promise.median_throughput.value() / setup(row).nodes;
    const bool has_cpus = counts_cpus(), has_disk = job_.input.bytes && machine(row).disk;
    const std::string read =
        job_.input.bytes && !has_disk
            ? fmt::format(" ({} a second)",
                          to_text(Bytes(static_cast<std::uint64_t>(
                              rate * static_cast<double>(job_.input.bytes->value())))))
            : "";
    if (!has_cpus || !has_disk) {
      parts.push_back(fmt::format("whether a node's {} {} {} samples/s{}",
                                  has_cpus   ? "storage"
                                  : has_disk ? "CPUs"
                                             : "CPUs and storage",
                                  has_cpus ? "delivers" : "deliver", in_thousands(rate), read));
    }
    parts.emplace_back("storage and traffic");
    return fmt::format("{}", fmt::join(parts, "; "));
  }

  std::ostream& out_;
  Remarks remarks_;
  const PlannedJob& job_;
  const Grid& grid_;
  const Answer& answer_;
  const Predictor& predictor_;
  Today today_;
};

}  // namespace

void write_answer(std::ostream& out, const PlannedJob& job, const Grid& grid, const Answer& answer,
                  const Predictor& predictor, Today today) {
  Writer(out, job, grid, answer, predictor, today).write();
}

}  // namespace paceline::capacity

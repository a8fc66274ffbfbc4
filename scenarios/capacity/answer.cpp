#include "scenarios/capacity/answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>
#include <utility>

#include "models/uncertain/next.h"
#include "scenarios/errors.h"
#include "scenarios/process/stop_request.h"

namespace paceline::capacity {
namespace {

using uncertain::Unknown;

constexpr std::size_t others_most = 4;
// Each row of the front is twice as fast as the one before, up to so many times the least cost.
constexpr std::size_t front_rows = 6;
constexpr double front_cost_most = 4;
// What a plan nearby may cost, or take, over the best.
constexpr double nearby_cost = 1.05, nearby_time = 1.1;

// More nodes are a waste below it: a judgement.
constexpr double efficiency_least = 0.7;

// Of the numbers of nodes that fit: the least, the most, the powers of two (of four, or more, where
// those are too many for a table), `at`, and those next to it.
std::set<std::uint32_t> shown_of(const std::set<std::uint32_t>& fitting, std::uint32_t at) {
  constexpr std::size_t most = 7;
  std::set<std::uint32_t> chosen;
  for (std::uint32_t ratio = 2; chosen.empty() || chosen.size() > most; ratio *= 2) {
    chosen = {*fitting.begin(), *fitting.rbegin()};
    for (std::uint32_t nodes = 1; nodes < *fitting.rbegin(); nodes *= ratio) {
      if (fitting.contains(nodes)) chosen.insert(nodes);
    }
  }
  chosen.insert(at);
  const auto from = fitting.lower_bound(at), above = fitting.upper_bound(at);
  if (from != fitting.begin()) chosen.insert(*std::prev(from));
  if (above != fitting.end()) chosen.insert(*above);
  return chosen;
}

class Answering {
 public:
  Answering(const PlannedJob& job, const Grid& grid, Search& search, const Predictor& predictor)
      : job_(job),
        grid_(grid),
        of_grid_(grid.candidates.size()),
        search_(search),
        predictor_(predictor) {}

  Answer answer() {
    made_.aim = aim_of_job();
    try {
      search_for_all();
    } catch (const Stopped&) {
      made_.is_complete = false;
      if (!made_.best && !made_.nearest) take_best_predicted();
    }
    find_what_would_win();
    if (made_.best) settle(*made_.best);
    if (made_.would_win) settle(*made_.would_win);
    made_.setups = search_.setups();
    made_.predicted = search_.predicted();
    made_.refused = search_.refused();
    return std::move(made_);
  }

 private:
  using Allowed = std::function<bool(const Setup&, Pricing)>;

  void search_for_all() {
    made_.best = refined({aim_of_job(), job_.targets, asked()});
    if (made_.best) {
      find_others();
      find_nearby();
      find_further();
    } else {
      made_.nearest = refined({Aim::nearest, job_.targets, asked()});
      const bool all_refused = search_.predicted() == search_.refused();
      if (!made_.nearest && all_refused && !predictor_.first_refusal().empty()) {
        throw InputError({job_.path}, "runs on no machine: " + predictor_.first_refusal(), "");
      }
    }
    find_front();
    find_by_nodes();
  }

  void take_best_predicted() {
    made_.best = row_of(search_.best_predicted({aim_of_job(), job_.targets, asked()}));
    if (made_.best) return;
    made_.nearest = row_of(search_.best_predicted({Aim::nearest, job_.targets, asked()}));
    if (!made_.nearest) throw Stopped();
  }

  [[nodiscard]] const Machine& machine(const Setup& setup) const {
    return job_.machines[setup.machine];
  }

  // Who has so much to spend and no other target wants it soon.
  [[nodiscard]] Aim aim_of_job() const {
    const Targets& targets = job_.targets;
    return targets.budget && !targets.deadline && !targets.throughput ? Aim::fastest
                                                                      : Aim::cheapest;
  }

  // Machines of one's own are there whatever is rented.
  [[nodiscard]] Allowed asked() const {
    return [this](const Setup& setup, Pricing pricing) {
      return (pricing == Pricing::on_demand && machine(setup).is_owned) ||
             std::ranges::find(job_.pricings, pricing) != job_.pricings.end();
    };
  }

  [[nodiscard]] Allowed asked_and(const std::function<bool(const Setup&)>& also) const {
    return [asked = asked(), also](const Setup& setup, Pricing pricing) {
      return asked(setup, pricing) && also(setup);
    };
  }

  std::optional<Row> find(const Wanted& wanted) { return row_of(search_.best(wanted)); }
  std::optional<Row> refined(const Wanted& wanted) { return row_of(search_.refined_best(wanted)); }

  std::optional<Row> row_of(const std::optional<Plan>& plan) {
    if (!plan) return std::nullopt;
    return Row{*plan, *search_.promise(*plan, job_.targets)};
  }

  void find_others() {
    std::vector<std::size_t> taken{search_.setup(made_.best->plan).machine};
    while (made_.others.size() < others_most) {
      const auto next = refined({aim_of_job(), job_.targets, asked_and([&](const Setup& setup) {
                                   return std::ranges::find(taken, setup.machine) == taken.end();
                                 })});
      if (!next) break;
      made_.others.push_back(*next);
      taken.push_back(search_.setup(next->plan).machine);
    }
    // Between the grid's plans another machine's may be better.
    const auto value = [&](const Row& row) {
      return aim_of_job() == Aim::fastest ? row.promise.limit.value()
                                          : row.promise.limit_cost.value();
    };
    for (Row& other : made_.others) {
      if (value(other) < value(*made_.best)) std::swap(other, *made_.best);
    }
    std::ranges::stable_sort(made_.others, {}, value);
  }

  void find_nearby() {
    Targets targets = job_.targets;
    const Promise& best = made_.best->promise;
    const bool by_cost = aim_of_job() == Aim::cheapest;
    if (by_cost) {
      const Money most(best.limit_cost.value() * nearby_cost);
      targets.budget = targets.budget ? std::min(*targets.budget, most) : most;
    } else {
      targets.deadline = best.limit * nearby_time;
    }
    made_.nearby = find({by_cost ? Aim::fastest : Aim::cheapest, targets, asked()});
    if (made_.nearby && made_.nearby->plan == made_.best->plan) made_.nearby.reset();
  }

  void add_further(std::string words, const Wanted& wanted) {
    made_.further.push_back({std::move(words), find(wanted)});
  }

  void add_without(const std::string& what, const std::function<bool(const Setup&)>& is_it) {
    const bool is_all = std::ranges::all_of(grid_.candidates,
                                            [&](const Candidate& one) { return is_it(one.setup); });
    if (is_all) return;
    add_further("without " + what, {aim_of_job(), job_.targets,
                                    asked_and([&](const Setup& setup) { return !is_it(setup); })});
  }

  void find_further() {
    const Setup best = search_.setup(made_.best->plan);
    const Machine& best_machine = machine(best);
    add_without(best_machine.device,
                [&](const Setup& one) { return machine(one).device == best_machine.device; });
    add_without(best_machine.catalogue,
                [&](const Setup& one) { return machine(one).catalogue == best_machine.catalogue; });
    if (best.nodes > 1) {
      const std::string& network = grid_.machines[best.machine].network_kind;
      add_without(fmt::format("nodes joined by {}", network), [&](const Setup& one) {
        return one.nodes > 1 && grid_.machines[one.machine].network_kind == network;
      });
    }
    if (best.nodes > 1 && !job_.nodes_exactly) {
      add_further("one node only", {aim_of_job(), job_.targets,
                                    asked_and([](const Setup& one) { return one.nodes == 1; })});
    }
    if (job_.targets.deadline) {
      Targets sooner = job_.targets;
      sooner.deadline = *sooner.deadline / 2.0;
      add_further(fmt::format("a deadline of {}", in_words(*sooner.deadline)),
                  {aim_of_job(), sooner, asked()});
    }
    const Pricing other =
        made_.best->plan.pricing == Pricing::on_demand ? Pricing::spot : Pricing::on_demand;
    const auto has_other = [&](const Machine& one) { return one.price_of(other).has_value(); };
    const bool has_own = std::ranges::any_of(job_.machines, &Machine::is_owned);
    if (std::ranges::any_of(job_.machines, has_other)) {
      add_further(other == Pricing::on_demand ? "nodes on demand only"
                  : has_own                   ? "spot nodes only, none of one's own"
                                              : "spot nodes only",
                  {aim_of_job(), job_.targets,
                   [other](const Setup&, Pricing pricing) { return pricing == other; }});
    }
  }

  void find_front() {
    auto next = find({Aim::cheapest, {}, asked()});
    if (!next) return;
    Targets sooner;
    sooner.budget = Money(next->promise.limit_cost.value() * front_cost_most);
    while (next && made_.front.size() < front_rows) {
      made_.front.push_back(*next);
      sooner.deadline = next->promise.limit / 2.0;
      next = find({Aim::cheapest, sooner, asked()});
    }
  }

  // Of the machine and pricing of the best, or nearest. So many nodes have one price an hour: the
  // cheapest plan is the fastest, too.
  void find_by_nodes() {
    const auto& shown = made_.best ? made_.best : made_.nearest;
    if (!shown) return;
    const Setup at = search_.setup(shown->plan);
    std::set<std::uint32_t> fitting;
    for (const Candidate& one : std::span(grid_.candidates).first(of_grid_)) {
      if (one.setup.machine == at.machine) fitting.insert(one.setup.nodes);
    }
    std::vector<OfNodes> rows;
    for (const std::uint32_t nodes : shown_of(fitting, at.nodes)) {
      const auto is_one = [&](const Setup& one, Pricing pricing) {
        return one.machine == at.machine && one.nodes == nodes && pricing == shown->plan.pricing;
      };
      const Wanted wanted{Aim::cheapest, {}, is_one};
      const auto row = std::has_single_bit(nodes) ? find(wanted) : refined(wanted);
      if (row) rows.push_back({*row, nodes, row->promise.median_throughput.value() / nodes});
    }
    if (rows.size() < 2) return;
    const auto product = [](const OfNodes& one) {  // over the price of a node, which may be nothing
      return one.row.promise.limit.value() * one.row.promise.limit.value() * one.nodes;
    };
    made_.knee_nodes = std::ranges::min_element(rows, {}, product)->nodes;
    const double of_first = rows.front().efficiency;
    for (OfNodes& one : rows) {
      one.efficiency /= of_first;
      if (one.efficiency >= efficiency_least)
        made_.inefficient_from_nodes.reset();
      else if (!made_.inefficient_from_nodes)
        made_.inefficient_from_nodes = one.nodes;
    }
    made_.by_nodes = std::move(rows);
  }

  void find_what_would_win() {
    if (!made_.best) return;
    const Setup& best = search_.setup(made_.best->plan);
    const auto likely = [&](const Row& row) {
      return aim_of_job() == Aim::fastest ? row.promise.median.value()
                                          : row.promise.median_cost.value();
    };
    double least = likely(*made_.best);
    for (const auto& [plan, promise] : search_.all_predicted(job_.targets, asked())) {
      const Row row{plan, promise};
      const Setup& setup = search_.setup(row.plan);
      if (setup.machine == best.machine || row.promise.probability < 0.5) continue;
      if (likely(row) >= least) continue;
      least = likely(row);
      made_.would_win = row;
    }
  }

  // Which measurement a plan's figures need most: one GPU, or calls within a node or between two.
  void settle(const Row& row) {
    const Setup& setup = search_.setup(row.plan);
    const Machine& kind = machine(setup);
    const Prediction& predicted = *predictor_.outcome(setup)->predicted;
    Speed speed = speed_of(job_, setup, *predictor_.outcome(setup));
    if (speed.is_bound_by_cpus() && speed.input.cpus.high > 0) return settle_input(row, speed);
    const auto widest = predicted.believed.widest();
    if (!widest) return;
    const uncertain::Priors& priors = predicted.belief.priors();
    const double links = priors.links[static_cast<std::size_t>(uncertain::LinkClass::measured)];
    uncertain::Place place = predicted.response.place;
    uncertain::KnownRow known;
    Settling made{row, "", "", {}, {}};
    const auto q = static_cast<std::size_t>(*widest);
    made.hangs_on =
        fmt::format("{}{}: {:+.0f} to {:+.0f} % of the step", to_text(*widest),
                    *widest == Unknown::compute ? fmt::format(" ({})", kind.device) : "",
                    100 * std::expm1(predicted.believed.lows[q]),
                    100 * std::expm1(predicted.believed.highs[q]));
    const std::string calibrate =
        ", give its output to paceline calibrate, and name the file as cluster.calibration in the "
        "catalogue";
    switch (*widest) {
      case Unknown::compute:
        place.log2_ranks = place.log2_gpus_per_node = place.log2_nodes = 0;
        known = {uncertain::response_of_itself(place, *widest), 0, priors.row};
        made.measure = fmt::format(
            "train for a minute on one {} with a batch of {}, and add to the job file: "
            "measured_on: "
            "[{{device: {}, batch: {}, throughput: ... samples/s}}]",
            kind.device, setup.batch, kind.device, setup.batch);
        break;
      case Unknown::node_links:
        place.log2_nodes = 0;
        known = {uncertain::response_of_itself(place, *widest), 0, links};
        made.measure =
            fmt::format("run all_reduce_perf on one node of {}{}", kind.full_name(), calibrate);
        break;
      case Unknown::network:
        place.log2_nodes = 1;
        known = {uncertain::response_of_itself(place, *widest), 0, links};
        made.measure = fmt::format("run all_reduce_perf between two nodes of {}{}",
                                   kind.full_name(), calibrate);
        break;
      case Unknown::wrapper:
      case Unknown::host:
      case Unknown::overlap:
        known = {predicted.response};
        made.measure = fmt::format("train for a minute on {} GPUs of {}", gpus_of(job_, setup),
                                   kind.full_name());
        break;
    }
    const auto after = uncertain::believed_after(predicted.belief, known, predicted.response);
    speed.low = after.low;
    speed.high = after.high;
    speed.degrees = uncertain::freedom + 1;
    add_settling(std::move(made), speed);
  }

  void settle_input(const Row& row, Speed speed) {
    const Machine& kind = machine(search_.setup(row.plan));
    Settling made{row, "", "", {}, {}};
    made.hangs_on = fmt::format("what {:.0f} vCPUs of a node get ready: {:+.0f} to {:+.0f} %",
                                vcpus_of(kind), 100 * std::expm1(speed.input.cpus.low),
                                100 * std::expm1(speed.input.cpus.high));
    made.measure = fmt::format(
        "{}run the data loader alone for a minute on {}, and add to the job file what a core did, "
        "half of its {:.0f} vCPUs: input: {{per_core: ... samples/s}}",
        kind.vcpus ? "" : "look up its vCPUs (`vcpus` in its catalogue), or ", kind.full_name(),
        vcpus_of(kind));
    speed.input.cpus.low = speed.input.cpus.high = 0;
    add_settling(std::move(made), speed);
  }

  void add_settling(Settling made, const Speed& speed) {
    made.limit_after = search_.limit_time(made.row.plan, speed);
    made.limit_cost_after = search_.rate(made.row.plan) * made.limit_after;
    made_.settling.push_back(std::move(made));
  }

  const PlannedJob& job_;
  const Grid& grid_;
  std::size_t of_grid_;  // setups, before the search adds some
  Search& search_;
  const Predictor& predictor_;
  Answer made_;
};

}  // namespace

Answer answer_of(const PlannedJob& job, const Grid& grid, Search& search,
                 const Predictor& predictor) {
  return Answering(job, grid, search, predictor).answer();
}

// What a plan costs is proportional to the price.
std::optional<MoneyPerSecond> better_below(const PlannedJob& job, const Grid& grid,
                                           const Answer& answer, const Row& row) {
  if (answer.aim != Aim::cheapest || !answer.best || row.plan == answer.best->plan ||
      row.promise.probability < job.probability) {
    return std::nullopt;
  }
  const Machine& machine = job.machines[grid.candidates[row.plan.candidate].setup.machine];
  return *machine.price_of(row.plan.pricing) *
         (answer.best->promise.limit_cost / row.promise.limit_cost);
}

}  // namespace paceline::capacity

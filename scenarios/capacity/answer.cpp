#include "scenarios/capacity/answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "models/uncertain/next.h"

namespace paceline::capacity {
namespace {

using uncertain::Unknown;

constexpr std::size_t others_most = 4;
// Of the front: each row is twice as fast as the one before, up to so many times the least cost,
// beyond which time is dear.
constexpr std::size_t front_rows = 6;
constexpr double front_cost_most = 4;

// Everything that is looked for is the best of some plans.
class Answering {
 public:
  Answering(const PlannedJob& job, const Grid& grid, Search& search, const Predictor& predictor)
      : job_(job), grid_(grid), search_(search), predictor_(predictor) {}

  Answer answer() {
    made_.aim = aim_of_job();
    made_.best = find({aim_of_job(), job_.targets, asked()});
    if (made_.best) {
      find_others();
      find_further();
    } else {
      made_.nearest = find({Aim::nearest, job_.targets, asked()});
    }
    find_front();
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
      return machine(setup).is_owned ||
             std::ranges::find(job_.pricings, pricing) != job_.pricings.end();
    };
  }
  [[nodiscard]] Allowed asked_and(const std::function<bool(const Setup&)>& also) const {
    return [asked = asked(), also](const Setup& setup, Pricing pricing) {
      return asked(setup, pricing) && also(setup);
    };
  }

  std::optional<Row> find(const Wanted& wanted) {
    const auto plan = search_.best(wanted);
    if (!plan) return std::nullopt;
    return Row{*plan, *search_.promise(*plan, job_.targets)};
  }

  void find_others() {
    std::vector<std::size_t> taken{search_.setup(made_.best->plan).machine};
    while (made_.others.size() < others_most) {
      const auto next = find({aim_of_job(), job_.targets, asked_and([&](const Setup& setup) {
                                return std::ranges::find(taken, setup.machine) == taken.end();
                              })});
      if (!next) return;
      made_.others.push_back(*next);
      taken.push_back(search_.setup(next->plan).machine);
    }
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
      add_without(network, [&](const Setup& one) {
        return one.nodes > 1 && grid_.machines[one.machine].network_kind == network;
      });
      add_further("on one node", {aim_of_job(), job_.targets,
                                  asked_and([](const Setup& one) { return one.nodes == 1; })});
    }
    if (job_.targets.deadline) {
      Targets sooner = job_.targets;
      sooner.deadline = *sooner.deadline / 2.0;
      add_further("in half the time", {aim_of_job(), sooner, asked()});
    }
    const Pricing other =
        made_.best->plan.pricing == Pricing::spot ? Pricing::on_demand : Pricing::spot;
    const auto has_other = [&](const Machine& one) {
      return other == Pricing::spot ? one.spot.has_value() : one.price.has_value();
    };
    if (std::ranges::any_of(job_.machines, has_other)) {
      add_further(fmt::format("{} only", to_text(other)),
                  {aim_of_job(), job_.targets,
                   [other](const Setup&, Pricing pricing) { return pricing == other; }});
    }
  }

  void find_front() {
    auto next = find({Aim::cheapest, {}, asked()});
    if (!next) return;
    Targets sooner;
    sooner.budget = Money(next->promise.sure_cost.value() * front_cost_most);
    while (next && made_.front.size() < front_rows) {
      made_.front.push_back(*next);
      sooner.deadline = next->promise.sure / 2.0;
      next = find({Aim::cheapest, sooner, asked()});
    }
  }

  void find_what_would_win() {
    if (!made_.best) return;
    const Setup& best = search_.setup(made_.best->plan);
    const auto likely = [&](const Row& row) {
      return aim_of_job() == Aim::fastest ? row.promise.likely.value()
                                          : row.promise.likely_cost.value();
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

  void settle(const Row& row);

  const PlannedJob& job_;
  const Grid& grid_;
  Search& search_;
  const Predictor& predictor_;
  Answer made_;
};

// What a plan's figures hang on most, and what would say it: the number of one GPU, or calls by
// themselves in a node or between two.
void Answering::settle(const Row& row) {
  const Setup& setup = search_.setup(row.plan);
  const Machine& kind = machine(setup);
  const Prediction& predicted = *predictor_.outcome(setup)->predicted;
  const auto widest = predicted.believed.widest();
  if (!widest) return;
  const uncertain::Priors& priors = predicted.belief.priors();
  const double links = priors.links[static_cast<std::size_t>(uncertain::LinkClass::measured)];
  uncertain::Place place = predicted.response.place;
  uncertain::KnownRow known;
  Settling made{row, "", "", {}, {}};
  const auto q = static_cast<std::size_t>(*widest);
  made.hangs_on = fmt::format("{} on {} ({:+.0f} to {:+.0f} % of its step)", to_text(*widest),
                              kind.full_name(), 100 * std::expm1(predicted.believed.lows[q]),
                              100 * std::expm1(predicted.believed.highs[q]));
  switch (*widest) {
    case Unknown::compute:
      place.log2_ranks = place.log2_gpus_per_node = place.log2_nodes = 0;
      known = {uncertain::response_of_itself(place, *widest), 0, priors.row};
      made.measure = fmt::format(
          "a minute of training on one {}: measured_on: [{{device: {}, batch: {}, throughput: ... "
          "samples/s}}]",
          kind.device, kind.device, setup.batch);
      break;
    case Unknown::node_links:
      place.log2_nodes = 0;
      known = {uncertain::response_of_itself(place, *widest), 0, links};
      made.measure = fmt::format(
          "all_reduce_perf on one node of {}, paceline calibrate, and cluster.calibration in its "
          "catalogue",
          kind.full_name());
      break;
    case Unknown::network:
      place.log2_nodes = 1;
      known = {uncertain::response_of_itself(place, *widest), 0, links};
      made.measure = fmt::format(
          "all_reduce_perf between two nodes of {}, paceline calibrate, and cluster.calibration in "
          "its catalogue",
          kind.full_name());
      break;
    case Unknown::wrapper:
    case Unknown::host:
    case Unknown::overlap:
      known = {predicted.response, 0, 0};
      made.measure = fmt::format("a minute of the job itself on {} GPUs of {}",
                                 gpus_of(job_, setup), kind.full_name());
      break;
  }
  const auto after = uncertain::believed_after(predicted.belief, known, predicted.response);
  Speed speed = speed_of(*predictor_.outcome(setup));
  speed.low = after.low;
  speed.high = after.high;
  speed.degrees = uncertain::freedom + 1;
  made.sure_after = search_.sure_time(row.plan, speed);
  made.sure_cost_after = search_.rate(row.plan) * made.sure_after;
  made_.settling.push_back(std::move(made));
}

}  // namespace

Answer answer_of(const PlannedJob& job, const Grid& grid, Search& search,
                 const Predictor& predictor) {
  return Answering(job, grid, search, predictor).answer();
}

}  // namespace paceline::capacity

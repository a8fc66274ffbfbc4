// What must hold between predictions of random scenarios, whatever their figures. 100 seeds;
// PACELINE_RELATION_SEEDS as many, from PACELINE_RELATION_FIRST_SEED on (many_seeds.sh). What does
// not hold is printed with its scenario, before and after.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/predict/composition.h"
#include "scenarios/predict/run_scenario.h"
#include "sim/folded/predicted_point.h"
#include "tests/scenarios/process.h"
#include "tests/scenarios/relations/random_scenario.h"

namespace paceline::test {
namespace {

using Outcomes = std::vector<PointOutcome>;

// What a run says of a scenario's points; empty where it is refused.
Outcomes outcomes_of(const Values& values, std::size_t jobs) {
  const Folder folder;
  try {
    const auto file = ScenarioFile::read(folder.write("s.yaml", values.text()), {});
    return run_scenario(file, {.jobs = jobs, .keep_traces = true, .force = false, .progress = {}});
  } catch (const InputError&) {
    return {};
  }
}

// A scenario before and after a change, and what was predicted of each.
struct Case {
  const Values &values, &changed;
  const Outcomes &all_before, &all_after;

  [[nodiscard]] const PointOutcome& before() const { return all_before.front(); }
  // How many times as long the step takes.
  [[nodiscard]] double ratio() const {
    const auto step = [](const Outcomes& all) {
      return all.front().predicted->totals.step.value();
    };
    return step(all_after) / step(all_before);
  }
};

// What is no violation if it is seldom: one scenario, and one more in so many.
struct Anomaly {
  bool (*is)(const Case&);
  std::uint64_t in;
};

struct Relation {
  const char* name;
  const char* fidelity;
  std::uint64_t every;  // so many seeds one is tried
  // Makes a scenario one that the relation says something of; false: it says nothing of it.
  bool (*prepare)(Values&, Random&);
  // Likewise. Null: the relation is of one prediction, which stands for both.
  bool (*change)(Values&, Random&);
  // Why it does not hold; empty: it does.
  std::string (*broken)(const Case&);
  const Anomaly* anomaly = nullptr;

  friend void PrintTo(const Relation& relation, std::ostream* out) { *out << relation.name; }
};

constexpr double rounding = 1e-9;  // a part of a step: sums in another order
std::string times(double ratio) { return fmt::format("takes {} times as long", ratio); }
// By little, and seldom, what begins earlier shares links or compute with other work than before,
// and ends later (models/DECISIONS.md).
constexpr double anomaly_most = 0.02;
std::string slower(const Case& of) {
  return of.ratio() <= 1 + anomaly_most ? "" : times(of.ratio());
}
constexpr Anomaly is_slower{[](const Case& of) { return of.ratio() > 1 + rounding; }, 50};
std::string faster(const Case& of) { return of.ratio() >= 1 - rounding ? "" : times(of.ratio()); }
std::string not_the_same(const Case& of) {
  return std::abs(of.ratio() - 1) <= rounding ? "" : times(of.ratio());
}
// More than folded and flow may differ by, in their steps and communication.
bool is_apart(const Prediction& one, const Prediction& other) {
  const auto differ = [](Seconds a, Seconds b) {
    return std::max(a, b) > std::min(a, b) * 1.000001;
  };
  return differ(one.totals.step, other.totals.step) ||
         differ(one.totals.communication, other.totals.communication);
}
// Some steps have no stable answer (sim/DECISIONS.md): a millionth of a millionth more bandwidth
// makes them others.
constexpr Anomaly is_unstable{
    [](const Case& of) {
      if (!is_apart(*of.before().predicted, *of.all_after.front().predicted)) return false;
      for (const char* path : {"cluster.network.bandwidth", "cluster.intra_node.bandwidth"}) {
        Values changed = of.values;
        changed.scale(path, 1 + 1e-12);
        const Outcomes others = outcomes_of(changed, 1);
        if (is_apart(*of.before().predicted, *others.front().predicted)) return true;
      }
      return false;
    },
    1000};
std::string apart(const Case& of) {
  const Prediction &one = *of.before().predicted, &other = *of.all_after.front().predicted;
  if (!is_apart(one, other) || is_unstable.is(of)) return "";
  const StepTotals &folded = one.totals, &flow = other.totals;
  return fmt::format("folded: {} s, {} s of it communication; flow: {} s, {} s",
                     folded.step.value(), folded.communication.value(), flow.step.value(),
                     flow.communication.value());
}

bool any(Values&, Random&) { return true; }

std::uint32_t gpus_of(const Values& values) {
  return static_cast<std::uint32_t>(values.number("cluster.nodes") *
                                    values.number("cluster.gpus_per_node"));
}
bool several(Values& values, Random&) { return gpus_of(values) > 1; }
bool several_nodes(Values& values, Random&) { return values.number("cluster.nodes") > 1; }

void take_out_section(const std::string& section, Values& values) {
  for (const std::string& path : values.below(section)) values.take_out(path);
}

// Of ranks that are alike, whose compute nothing slows down.
void quieten(Values& values) {
  take_out_section("ranks.", values);
  values.set("contention", "off");
}

// --- of one prediction

std::string impossible_totals(const Case& of) {
  const StepTotals& totals = of.before().predicted->totals;
  const double step = totals.step.value();
  const auto above = [&](Seconds some, Seconds most) {
    return some.value() > most.value() + rounding * step;
  };
  if (!(step > 0) || !std::isfinite(step)) return fmt::format("a step of {} s", step);
  if (above(totals.compute, totals.step)) return "computes longer than its step";
  if (above(totals.communication, totals.step)) return "communicates longer than its step";
  if (above(totals.exposed_communication, totals.communication)) return "exposes more than all";
  if (above(totals.compute + totals.exposed_communication, totals.step)) {
    return "computes and exposes more than its step";
  }
  const StepInterval& interval = of.before().predicted->interval;
  if (above(interval.low, totals.step) || above(totals.step, interval.high)) {
    return "lies outside its interval";
  }
  for (const RankClass& members : of.before().predicted->trace.classes) {
    for (const training::Interval& ran : members.intervals) {
      const bool is_inside = ran.start.value() >= -rounding * step && !above(ran.start, ran.end) &&
                             !above(ran.end, totals.step);
      if (!is_inside) return "runs an operation outside its step";
    }
  }
  return "";
}

// Each number of a list of counts.
std::vector<double> numbers_of(const std::string& list) {
  std::vector<double> numbers;
  const char* at = list.c_str();
  while (*at != '\0') {
    char* end = nullptr;
    const double number = std::strtod(at, &end);
    if (end == at) {
      ++at;
    } else {
      numbers.push_back(number);
      at = end;
    }
  }
  return numbers;
}

// Of each gradient in forward order.
std::vector<double> gradient_bytes(const Values& values) {
  std::vector<double> bytes;
  const double element = values.is("workload.precision", "fp16") ? 2 : 4;
  for (std::size_t i = 0; i < values.layers(); ++i) {
    for (const double count : numbers_of(values.at(values.layer(i, "parameters")))) {
      bytes.push_back(count * element);
    }
  }
  return bytes;
}

// Whose all-reduces are those of the gradients, each once.
bool reduces_gradients(Values& values, Random&) {
  const std::string strategy = values.at("training.strategy");
  for (const char* one : {"fsdp", "deepspeed_zero", "data_parallel", "parameter_server"}) {
    if (strategy == one) return false;
  }
  for (const char* key : {"training.find_unused_parameters", "training.hierarchical_allreduce",
                          "training.zero_redundancy_optimizer", "training.gradient_accumulation"}) {
    values.take_out(key);
  }
  return gpus_of(values) > 1;
}

std::vector<double> reduced_bytes(const Case& of) {
  std::vector<double> bytes;
  for (const CallTimes& call : of.before().predicted->calls) {
    if (call.collective != collectives::Collective::all_reduce) continue;
    bytes.push_back(static_cast<double>(call.size.value()));
  }
  return bytes;
}

std::string other_bytes(const Case& of) {
  double all = 0, expected = 0;
  for (const double bytes : reduced_bytes(of)) all += bytes;
  for (const double bytes : gradient_bytes(of.values)) expected += bytes;
  return all == expected ? "" : fmt::format("reduces {} bytes of {}", all, expected);
}

bool has_buckets(Values& values, Random& random) {
  return values.is("training.strategy", "ddp") && reduces_gradients(values, random);
}

// A bucket is closed when it has reached the cap, or the first one 1 MiB: without its largest
// tensor it has not. (Which tensor was the last one in is not asked, nor which bucket is the
// first.)
std::string above_cap(const Case& of) {
  constexpr double first_bucket = 1 << 20;  // of PyTorch, unless it is set
  const double cap = std::max(of.values.number("training.bucket_cap") * 1e6, first_bucket);
  double largest = 0;
  for (const double bytes : gradient_bytes(of.values)) largest = std::max(largest, bytes);
  for (const double bytes : reduced_bytes(of)) {
    if (bytes - largest >= cap) return fmt::format("a bucket of {} bytes, cap {}", bytes, cap);
  }
  return "";
}

// One node of ports alike, and a number of elements that the ranks divide.
bool is_one_ring(Values& values, Random& random) {
  const std::uint64_t ranks = random.whole(2, 16);
  quieten(values);
  take_out_section("cluster.", values);
  take_out_section("training.", values);
  take_out_section("collective.", values);
  for (std::size_t i = 0; i < values.layers(); ++i) values.take_out(values.layer(i, "parameters"));
  values.set("workload.precision", "fp32");
  values.set(values.layer(0, "parameters"),
             fmt::format("[{}]", ranks * random.whole(1, 1'000'000)));
  values.set("cluster.gpus_per_node", fmt::format("{}", ranks));
  values.set("cluster.nodes", "1");
  values.set("cluster.intra_node.bandwidth", random.spread(1, 300), "GBps");
  values.set("cluster.intra_node.latency", random.spread(0.5, 100), "us");
  values.set("training.strategy", "bulk_synchronous");
  values.set("collective.library", "plan");
  values.set("collective.algorithm", "ring");
  values.set("collective.channels", "1");
  return true;
}

// 2(p-1) rounds of a latency and a p-th of the bytes.
std::string not_by_the_formula(const Case& of) {
  const double ranks = of.values.number("cluster.gpus_per_node");
  const double round = of.values.number("cluster.intra_node.latency") * 1e-6 +
                       gradient_bytes(of.values).front() / ranks /
                           (of.values.number("cluster.intra_node.bandwidth") * 1e9);
  const double expected = 2 * (ranks - 1) * round;
  const double is = of.before().predicted->calls.at(0).together().value();
  return std::abs(is / expected - 1) <= 1e-6 ? "" : fmt::format("{} s, not {} s", is, expected);
}

bool on_one_gpu(Values& values, Random&) {
  quieten(values);
  take_out_section("cluster.", values);
  take_out_section("training.host.", values);
  values.take_out("training.hierarchical_allreduce");
  values.take_out("training.sharding");
  values.set("cluster.gpus_per_node", "1");
  values.set("cluster.nodes", "1");
  return true;
}

std::string not_its_layers(const Case& of) {
  const Values& values = of.values;
  double pass = 0;
  for (std::size_t i = 0; i < values.layers(); ++i) {
    for (const char* key : {"forward", "backward"}) pass += values.number(values.layer(i, key));
  }
  const double passes = std::max(values.number("training.gradient_accumulation"), 1.0);
  const double expected = (pass * passes + values.number("training.optimizer.time") +
                           values.number("training.input_time")) *
                          1e-6;
  const StepTotals& totals = of.before().predicted->totals;
  if (totals.communication > Seconds(0)) return "communicates";
  const double is = totals.step.value();
  return std::abs(is / expected - 1) <= rounding ? "" : fmt::format("{} s, not {} s", is, expected);
}

bool has_one_call(Values& values, Random&) {
  quieten(values);
  take_out_section("training.", values);
  values.set("training.strategy", "bulk_synchronous");
  return gpus_of(values) > 1 && !gradient_bytes(values).empty();
}

// `paceline collective` prepares calls so; steps take what published rows say of links.
std::string not_as_alone(const Case& of) {
  const Folder folder;
  const auto file = ScenarioFile::read(folder.write("s.yaml", of.values.text()), {});
  Preparer points(file);
  const auto prepared = points.prediction(0);
  std::vector<training::CollectiveCall> calls;
  for (auto* call : calls_in(prepared->point.program)) calls.push_back(*call);
  if (calls.size() != 1) return fmt::format("has {} calls", calls.size());
  calls.front().how = training::Unplanned{};
  const auto made = prepare_calls(*points.scenario(0), calls, "");
  const StepScale by = scale_of(*prepared, of.before().predicted->believed.values);
  const double alone = sim::predict_folded(made.calls.at(0).point).totals.step.value() *
                       call_factor(*prepared, calls.front(), by);
  const double is = of.before().predicted->calls.at(0).together().value();
  return std::abs(is / alone - 1) <= rounding ? "" : fmt::format("{} s, alone {} s", is, alone);
}

// --- of two descriptions of the same

// Another unit; each node's GPUs counted in `gpus`; a layer written twice.
bool is_said_otherwise(Values& values, Random& random) {
  switch (random.whole(0, 3)) {
    case 0:
      values.set("cluster.network.bandwidth", values.number("cluster.network.bandwidth") / 8,
                 "GBps");
      return true;
    case 1:
      values.set("gpus", fmt::format("{}", gpus_of(values)));
      values.set("cluster.nodes", "7");
      return true;
    case 2: {
      const std::string path = values.layer(0, "forward");
      values.set(path, values.number(path) / 1000, "ms");
      return true;
    }
    default:
      values.set("ranks.slowdown.0",
                 values.has("ranks.slowdown.0") ? values.at("ranks.slowdown.0") : "1.0");
      return true;
  }
}

// BytePS' servers have the tensors by the places of their names in the alphabet, which are others.
bool has_a_layer_twice(Values& values, Random&) {
  if (values.is("training.strategy", "parameter_server")) return false;
  values.set(values.layer(values.layers() - 1, "repeat"), "2");
  return true;
}
bool writes_it_twice(Values& values, Random&) {
  const std::size_t last = values.layers() - 1;
  values.take_out(values.layer(last, "repeat"));
  values.add_layer();
  for (const char* key : {"forward", "backward", "parameters"}) {
    if (values.has(values.layer(last, key))) {
      values.set(values.layer(last + 1, key), values.at(values.layer(last, key)));
    }
  }
  return true;
}

bool is_of_plain_bandwidth(Values& values, Random&) {
  return values.number("cluster.nodes") > 1 && !values.is("collective.library", "nccl");
}
bool has_its_usable_bandwidth(Values& values, Random&) {
  const double part = values.number("cluster.network.efficiency");
  values.scale("cluster.network.bandwidth", part);
  values.set("cluster.network.efficiency", "1");
  return true;
}

bool draws_nothing(Values& values, Random&) {
  values.take_out("ranks.jitter");
  return true;
}
bool has_another_seed(Values& values, Random&) {
  values.set("simulation.seed", "17");
  return true;
}
bool has_a_seed(Values& values, Random&) {
  values.set("ranks.jitter", "0.1");
  values.set("simulation.seed", "17");
  return true;
}

bool sweeps(Values& values, Random& random) {
  const std::uint64_t in_node = static_cast<std::uint64_t>(values.number("cluster.gpus_per_node"));
  values.set("sweep.gpus", fmt::format("[{}, {}, {}]", in_node, 2 * in_node, 3 * in_node));
  values.set("simulation.seed", fmt::format("{}", random.whole(1, 9)));
  return true;
}
bool sweeps_backwards(Values& values, Random&) {
  const std::vector<double> gpus = numbers_of(values.at("sweep.gpus"));
  values.set("sweep.gpus", fmt::format("[{}, {}, {}]", gpus[2], gpus[1], gpus[0]));
  return true;
}
std::string other_points(const Case& of) {
  for (const PointOutcome& one : of.all_before) {
    const auto same = std::ranges::find(of.all_after, one.gpus, &PointOutcome::gpus);
    if (same == of.all_after.end()) return "a point is lost";
    if (one.predicted.has_value() != same->predicted.has_value()) return "a point fails";
    if (one.predicted && one.predicted->totals.step != same->predicted->totals.step) {
      return fmt::format("{} GPUs: {} s and {} s", one.gpus, one.predicted->totals.step.value(),
                         same->predicted->totals.step.value());
    }
  }
  return "";
}

// All of the call is times and bandwidths: no library's constants.
bool has_no_clock(Values& values, Random& random) {
  return !values.is("collective.library", "nccl") && has_one_call(values, random);
}
bool takes_thousandfold(Values& values, Random&) {
  for (const std::string& path : values.below("")) {
    const std::string value = values.at(path);
    if (value.find_first_of("0123456789") != 0) continue;  // a word, such as bulk_synchronous
    if (value.ends_with("us") || value.ends_with("ms")) values.scale(path, 1000);
    if (value.ends_with("ps")) values.scale(path, 0.001);
  }
  return true;
}
std::string not_thousandfold(const Case& of) {
  const auto call = [](const Outcomes& all) {
    return all.front().predicted->calls.at(0).together();
  };
  const double ratio = call(of.all_after) / call(of.all_before);
  return std::abs(ratio / 1000 - 1) <= 1e-6 ? "" : times(ratio);
}

// --- of a change for the better, or for the worse

double factor(Random& random) { return random.chance(0.5) ? 2 : random.spread(1.05, 4); }

bool scaled(Values& values, const std::string& path, double by) {
  if (!values.has(path)) return false;
  values.scale(path, by);
  return true;
}

bool has_faster_network(Values& values, Random& random) {
  return scaled(values, "cluster.network.bandwidth", factor(random));
}
bool has_faster_nodes(Values& values, Random& random) {
  return scaled(values, "cluster.intra_node.bandwidth", factor(random));
}
bool has_faster_hosts(Values& values, Random& random) {
  return scaled(values, "cluster.intra_node.host_bandwidth", factor(random));
}
bool has_better_efficiency(Values& values, Random& random) {
  const double is = values.number("cluster.network.efficiency");
  values.set("cluster.network.efficiency", std::min(1.0, is * factor(random)), "");
  return true;
}
bool has_nearer_network(Values& values, Random& random) {
  return scaled(values, "cluster.network.latency", 1 / factor(random));
}
bool has_nearer_gpus(Values& values, Random& random) {
  return scaled(values, "cluster.intra_node.latency", 1 / factor(random));
}

bool has_contention(Values& values, Random& random) {
  values.set("contention", random.spread(1, 1.5), "");
  return gpus_of(values) > 1;
}
bool has_more_contention(Values& values, Random& random) {
  return scaled(values, "contention", factor(random));
}

// Of the slowest rank, so that no other one is slower.
bool has_a_slower_rank(Values& values, Random& random) {
  const std::string path = fmt::format("ranks.slowdown.{}", random.whole(0, gpus_of(values) - 1));
  const double by = factor(random);
  values.set(path, (values.has(path) ? values.number(path) : 1) * by, "");
  return true;
}
std::string slower_than_its_rank(const Case& of) {
  double by = 1;
  for (const std::string& path : of.changed.below("ranks.slowdown.")) {
    const double was = of.values.has(path) ? of.values.number(path) : 1;
    by = std::max(by, of.changed.number(path) / was);
  }
  return of.ratio() <= by * (1 + rounding) ? "" : fmt::format("{}, {}", by, times(of.ratio()));
}

bool is_simulated(Values& values, Random&) {
  values.set("simulation.fidelity", "flow");
  return true;
}

const Relation relations[] = {
    {"totals are possible", "folded", 1, any, nullptr, impossible_totals},
    {"totals are possible in simulations", "folded", 4, any, nullptr, impossible_totals},
    {"gradients are reduced once", "folded", 1, reduces_gradients, nullptr, other_bytes},
    {"buckets keep to their cap", "folded", 1, has_buckets, nullptr, above_cap},
    {"a ring takes what its formula says", "folded", 1, is_one_ring, nullptr, not_by_the_formula},
    {"a ring flows as its formula says", "flow", 10, is_one_ring, nullptr, not_by_the_formula},
    {"one GPU takes the time of its layers", "folded", 1, on_one_gpu, nullptr, not_its_layers},
    {"a step of one call has it as alone", "folded", 1, has_one_call, nullptr, not_as_alone},
    {"descriptions of the same are the same", "folded", 1, any, is_said_otherwise, not_the_same},
    {"layers may repeat", "folded", 1, has_a_layer_twice, writes_it_twice, not_the_same},
    {"efficiency is a part of bandwidth", "folded", 1, is_of_plain_bandwidth,
     has_its_usable_bandwidth, not_the_same},
    {"seeds are of what is drawn", "folded", 1, draws_nothing, has_another_seed, not_the_same},
    {"a seed draws the same", "folded", 1, has_a_seed, any, not_the_same},
    {"sweeps go in any order, on any jobs", "folded", 1, sweeps, sweeps_backwards, other_points},
    {"simulated sweeps as well", "folded", 20, sweeps, sweeps_backwards, other_points},
    {"times of calls scale", "folded", 1, has_no_clock, takes_thousandfold, not_thousandfold},
    {"simulated times of calls scale", "folded", 4, has_no_clock, takes_thousandfold,
     not_thousandfold},
    {"contention slows", "folded", 1, has_contention, has_more_contention, faster},
    {"network bandwidth speeds", "folded", 2, several_nodes, has_faster_network, slower,
     &is_slower},
    {"node bandwidth speeds", "folded", 2, several, has_faster_nodes, slower, &is_slower},
    {"host bandwidth speeds", "folded", 2, several, has_faster_hosts, slower, &is_slower},
    {"efficiency speeds", "folded", 2, several_nodes, has_better_efficiency, slower, &is_slower},
    {"less network latency speeds", "folded", 2, several_nodes, has_nearer_network, slower,
     &is_slower},
    {"less node latency speeds", "folded", 2, several, has_nearer_gpus, slower, &is_slower},
    {"a slower rank slows by no more", "folded", 2, several, has_a_slower_rank,
     slower_than_its_rank},
    {"folded equals flow", "folded", 1, any, is_simulated, apart, &is_unstable},
};

// NCCL chooses by nominal figures, and now and then something slower where more bandwidth makes it
// choose otherwise; Horovod fuses what is ready when a cycle ends (models/DECISIONS.md).
// PACELINE_RELATION_ALL tries these, too.
bool may_be_broken(const Relation& relation, const Values& values) {
  return std::string_view(relation.name).ends_with("speeds") &&
         (values.is("collective.library", "nccl") || values.is("training.strategy", "horovod"));
}

std::uint64_t from_environment(const char* variable, std::uint64_t unless_set) {
  const char* text = std::getenv(variable);
  return text == nullptr ? unless_set : std::strtoull(text, nullptr, 10);
}

class Relations : public testing::TestWithParam<Relation> {};

bool is_predicted(const Outcomes& all) {
  return !all.empty() && std::ranges::all_of(all, [](const PointOutcome& one) {
    return one.predicted.has_value();
  });
}

TEST_P(Relations, HoldOfRandomScenarios) {
  const Relation& relation = GetParam();
  const std::uint64_t first = from_environment("PACELINE_RELATION_FIRST_SEED", 1);
  const std::uint64_t count = from_environment("PACELINE_RELATION_SEEDS", 100);
  const bool tries_all = std::getenv("PACELINE_RELATION_ALL") != nullptr;
  std::uint64_t tried = 0, violated = 0, anomalies = 0;
  for (std::uint64_t seed = first; seed < first + count; seed += relation.every) {
    Values values = random_scenario(seed);
    values.set("simulation.fidelity", relation.fidelity);
    Random random(seed);
    if (!relation.prepare(values, random)) continue;
    Values changed = values;
    if (relation.change != nullptr && !relation.change(changed, random)) continue;
    if (!tries_all && may_be_broken(relation, values)) continue;
    const Outcomes before = outcomes_of(values, 1);
    if (!is_predicted(before)) continue;
    const Outcomes after = relation.change == nullptr ? before : outcomes_of(changed, 2);
    if (!is_predicted(after)) continue;
    ++tried;
    const Case of{values, changed, before, after};
    if (relation.anomaly != nullptr && relation.anomaly->is(of)) ++anomalies;
    const std::string why = relation.broken(of);
    if (why.empty()) continue;
    ++violated;
    ADD_FAILURE() << "seed " << seed << ": " << why << "\n"
                  << values.text() << "---\n"
                  << changed.text();
  }
  RecordProperty("tried", static_cast<int>(tried));
  RecordProperty("violated", static_cast<int>(violated));
  RecordProperty("anomalies", static_cast<int>(anomalies));
  if (relation.anomaly != nullptr) {
    EXPECT_LE(anomalies, 1 + tried / relation.anomaly->in) << "of " << tried;
  }
  EXPECT_GT(tried, 0U) << "this says nothing of any scenario";
}

std::string name_of(const testing::TestParamInfo<Relation>& tested) {
  std::string name = tested.param.name;
  for (char& c : name) c = c == ' ' || c == ',' ? '_' : c;
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, Relations, testing::ValuesIn(relations), name_of);

}  // namespace
}  // namespace paceline::test

// How often the cause of measured steps is found: causes [SEEDS [FIRST_SEED [-v]]].
//
// A seed is a random shipped preset, network, strategy and bandwidth, and 3 to 5 numbers of GPUs.
// One thing of it is changed (`planted`), or nothing. Steps are predicted as changed, with all that
// descriptions leave open drawn from its priors (Student's, once a machine) and 2 % of each row by
// itself, and explained by the description that was not changed. A change that moves no row out of
// its 90 % interval by itself is no news, and drawn again; how many were is told.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <Eigen/Dense>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <numbers>
#include <optional>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "models/shipped_file.h"
#include "models/uncertain/covariance.h"
#include "scenarios/errors.h"
#include "scenarios/judge/contradictions.h"
#include "scenarios/predict/run_scenario.h"
#include "tests/scenarios/relations/random_scenario.h"

namespace {

using namespace paceline;
using test::Random;
using uncertain::Cause, uncertain::Unknown;
using Values = std::array<double, uncertain::quantities>;
using Settings = std::map<std::string, std::string>;

struct Planted {
  const char* name;
  std::set<Cause> right;
};
// What changes no step time but as another does is that: ranks that are all slower, as one is.
const std::vector<Planted> planted{{"nothing", {}},
                                   {"network", {Cause::network}},
                                   {"node links", {Cause::node_links}},
                                   {"host", {Cause::host}},
                                   {"input", {Cause::input}},
                                   {"straggler", {Cause::straggler}},
                                   {"shared", {Cause::shared}},
                                   {"no overlap", {Cause::overlap}},
                                   {"unit", {Cause::unit}},
                                   {"batch", {Cause::work}},
                                   {"sequence", {Cause::work}}};

double normal(Random& random) {
  return std::sqrt(-2 * std::log(1 - random.part())) *
         std::cos(2 * std::numbers::pi * random.part());
}

std::string text_of(const Settings& settings, const std::vector<unsigned>& gpus) {
  std::string text = "schema: paceline/1\nname: random\n";
  std::string section;
  for (const auto& [path, value] : settings) {
    const auto dot = path.find('.');
    if (section != path.substr(0, dot)) text += fmt::format("{}:\n", section = path.substr(0, dot));
    std::string rest = path.substr(dot + 1), indent = "  ";
    if (const auto inner = rest.find('.'); inner != std::string::npos) {
      text +=
          fmt::format("  {}: {{{}: {}}}\n", rest.substr(0, inner), rest.substr(inner + 1), value);
    } else {
      text += fmt::format("  {}: {}\n", rest, value);
    }
  }
  text += fmt::format("sweep: {{gpus: [{}]}}\nmeasured:\n  source: drawn\n  points:\n",
                      fmt::join(gpus, ", "));
  for (const unsigned count : gpus)
    text += fmt::format("    - {{gpus: {}, throughput: 1 samples/s}}\n", count);
  return text;
}

std::vector<PointOutcome> predicted(const Settings& settings, const std::vector<unsigned>& gpus) {
  const auto path =
      std::filesystem::temp_directory_path() / fmt::format("causes-{}.yaml", getpid());
  std::ofstream(path) << text_of(settings, gpus);
  RunOptions options;
  options.keep_traces = true;
  options.jobs = 2;
  auto outcomes = run_scenario(ScenarioFile::read(path.string(), {}), options);
  std::filesystem::remove(path);
  for (const PointOutcome& one : outcomes) {
    if (!one.predicted) throw InputError({path.string()}, "a point failed", "");
  }
  return outcomes;
}

std::string found_in(std::string_view text, const char* pattern) {
  std::cmatch match;
  const bool is_found = std::regex_search(text.data(), text.data() + text.size(), match,
                                          std::regex(pattern, std::regex::ECMAScript));
  return is_found ? match[1].str() : "";
}

struct Drawn {
  Settings settings;
  std::vector<unsigned> gpus;
  unsigned in_node = 1;    // GPUs of a node
  std::string intra_node;  // its bandwidth; empty: none
  bool has_sequence = false;
};

const ShippedFile& any_of(Random& random, std::span<const ShippedFile> files) {
  return files[random.whole(0, files.size() - 1)];
}

std::optional<Drawn> drawn(Random& random) {
  const ShippedFile& preset = any_of(random, shipped_clusters());
  const ShippedFile& network = any_of(random, shipped_networks());
  static const std::regex large(".*(-7b|-8b|-13b|-70b|-xl)");
  const std::string gpu = found_in(preset.text, "\\ngpu: ([\\w-]+)");
  const unsigned in_node =
      static_cast<unsigned>(std::atoi(found_in(preset.text, "gpus_per_node: (\\d+)").c_str()));
  if (gpu.empty() || in_node > 8 || std::regex_match(std::string(network.name), large)) return {};
  Drawn made;
  Settings& s = made.settings;
  made.has_sequence = !found_in(network.text, "sample: \\{sequence: (\\d+)").empty();
  made.in_node = in_node;
  made.intra_node = found_in(preset.text, "intra_node:[^#]*?bandwidth: ([\\d.]+\\w+)");
  s["workload.model"] = network.name;
  s["workload.device"] = gpu;
  s["workload.batch_per_gpu"] =
      std::to_string((made.has_sequence ? 2U : 16U) << random.whole(0, 3));
  if (made.has_sequence) s["workload.sequence"] = random.any({"128", "512"});
  s["workload.precision"] = random.any({"amp", "fp32"});
  s["cluster.preset"] = preset.name;
  s["cluster.network.bandwidth"] = random.any({"10Gbps", "25Gbps", "50Gbps", "100Gbps", "200Gbps"});
  s["training.strategy"] = random.any({"ddp", "fsdp", "horovod"});
  s["training.optimizer"] = "{kind: adam}";
  std::set<unsigned> counts;
  for (unsigned n = 2; n <= in_node; n *= 2) counts.insert(n);
  for (const unsigned nodes : {2U, 3U, 4U}) counts.insert(nodes * in_node);
  made.gpus.assign(counts.begin(), counts.end());
  const std::size_t count = random.whole(3, 5);
  while (made.gpus.size() > count) {
    made.gpus.erase(made.gpus.begin() +
                    static_cast<std::ptrdiff_t>(random.whole(0, made.gpus.size() - 1)));
  }
  if (random.chance(0.6)) {  // one GPU was measured, or is told
    const double speed = predicted(s, {1U}).front().predicted_one_gpu().value();
    s["workload.single_gpu_throughput"] =
        fmt::format("{:.4g} samples/s", speed * std::exp(0.15 * normal(random)));
    if (random.chance(0.5)) made.gpus.insert(made.gpus.begin(), 1);
  }
  return made;
}

// So many times the number that a text with a unit begins with.
std::string scaled(const std::string& text, double factor) {
  char* unit = nullptr;
  const double number = std::strtod(text.c_str(), &unit);
  return fmt::format("{:.4g}{}", number * factor, unit);
}

// Of the steps as planted: the settings, and what is done to what they give.
struct Changed {
  Settings settings;
  double shared = 0;  // the part by which each further GPU of a node makes ranks compute longer
  double input = 0;   // samples/s; 0: no limit
  bool keeps_samples = false;
  int unit = 0;
};

std::optional<Changed> changed(const std::string& what, Random& random, const Drawn& base,
                               const std::vector<PointOutcome>& described) {
  Changed made{base.settings};
  Settings& s = made.settings;
  const double factor = random.spread(1.5, 12);
  if (what == "network") {
    s["cluster.network.bandwidth"] = scaled(s["cluster.network.bandwidth"], 1 / factor);
  } else if (what == "node links") {
    if (base.intra_node.empty()) return {};
    s["cluster.intra_node.bandwidth"] = scaled(base.intra_node, 1 / factor);
  } else if (what == "host") {
    const double slower = random.spread(2, 12);
    const double hooks = s["training.strategy"] == "fsdp" ? 1200 : 17;
    s["training.host"] =
        fmt::format("{{per_gradient: {:.0f}us, per_call: {:.0f}us}}", hooks * slower, 40 * slower);
  } else if (what == "input") {
    const PointOutcome& last = described.back();
    made.input = last.samples_per_step / last.step().value() * random.spread(0.1, 0.9);
  } else if (what == "straggler") {
    s["ranks.slowdown"] = fmt::format("{{1: {:.3g}}}", random.spread(1.1, 2));
  } else if (what == "shared") {
    made.shared = random.spread(0.02, 0.2);
  } else if (what == "no overlap") {
    if (s["training.strategy"] != "ddp") return {};
    s["training.strategy"] = "bulk_synchronous";
  } else if (what == "unit") {
    made.unit = static_cast<int>(random.whole(1, 3));
  } else if (what == "batch") {
    s["workload.batch_per_gpu"] =
        scaled(s["workload.batch_per_gpu"], std::array{0.25, 0.5, 2.0, 4.0}[random.whole(0, 3)]);
    if (std::stod(s["workload.batch_per_gpu"]) < 1) return {};
    made.keeps_samples = random.chance(0.5);
  } else if (what == "sequence") {
    if (!base.has_sequence || s.contains("workload.single_gpu_throughput")) return {};
    s["workload.sequence"] = s["workload.sequence"] == "128" ? "512" : "128";
  }
  return made;
}

// Of each row, drawn together.
std::vector<Values> values_of(Random& random, const std::vector<PointOutcome>& rows) {
  const uncertain::Priors& priors = uncertain::known_priors();
  double squares = 0;
  for (int i = 0; i < static_cast<int>(uncertain::freedom); ++i)
    squares += std::pow(normal(random), 2);
  const double scale = std::sqrt(uncertain::freedom / squares);
  const auto count = static_cast<Eigen::Index>(rows.size());
  std::vector<Values> values(rows.size());
  for (std::size_t q = 0; q < uncertain::quantities; ++q) {
    const auto place = [&](Eigen::Index i) -> const uncertain::Place& {
      return rows[static_cast<std::size_t>(i)].predicted->described.response.place;
    };
    Eigen::MatrixXd all(count, count);
    Eigen::VectorXd draws(count);
    for (Eigen::Index i = 0; i < count; ++i) {
      for (Eigen::Index j = 0; j < count; ++j) {
        all(i, j) = covariance(priors, uncertain::unknown_of(q), place(i), place(j), i == j);
      }
      all(i, i) += 1e-12;
      draws(i) = normal(random);
    }
    const Eigen::VectorXd at = Eigen::LLT<Eigen::MatrixXd>(all).matrixL() * draws;
    for (Eigen::Index i = 0; i < count; ++i) {
      values[static_cast<std::size_t>(i)][q] =
          centre(priors, uncertain::unknown_of(q), place(i)) + scale * at(i);
    }
  }
  return values;
}

// Where ranks are late one of several is, and all wait for it; one GPU is rank 0.
std::vector<PointOutcome> predicted_as(const Changed& change, const Drawn& base,
                                       const std::vector<PointOutcome>& described) {
  if (!change.settings.contains("ranks.slowdown") && change.shared == 0) {
    return predicted(change.settings, base.gpus);
  }
  std::vector<PointOutcome> made;
  for (std::size_t i = 0; i < described.size(); ++i) {
    const unsigned gpus = base.gpus[i];
    Settings settings = change.settings;
    if (change.shared > 0) {
      const unsigned others = std::min(gpus, base.in_node) - 1;
      settings["ranks.slowdown"] = fmt::format("{{1: {:.4g}}}", 1 + change.shared * others);
    }
    made.push_back(gpus == 1 ? described[i] : predicted(settings, {gpus}).front());
  }
  return made;
}

// What the asker says that a row gave, in samples/s.
double told(const Changed& change, const PointOutcome& described, const PointOutcome& as_changed,
            const Values& values, double noise) {
  const Prediction& made = *as_changed.predicted;
  Values at = made.described.response.bounded(values);
  double step = made.described.step.value() * std::exp(made.composed(at) + noise);
  if (change.input > 0)
    step = std::max(step, as_changed.samples_per_step / change.input * std::exp(noise));
  const double samples = described.samples_per_step;
  if (change.keeps_samples) return as_changed.samples_per_step / step;
  if (change.unit == 1) return 1 / step;
  if (change.unit == 2) return described.gpus / step;
  return samples / step / (change.unit == 3 ? described.gpus : 1);
}

void give(std::vector<PointOutcome>& described, const Changed& change,
          const std::vector<PointOutcome>& as_changed, const std::vector<Values>& values,
          const std::function<double()>& noise) {
  for (std::size_t i = 0; i < described.size(); ++i) {
    described[i].measured->throughput =
        SamplesPerSecond(told(change, described[i], as_changed[i], values[i], noise()));
  }
}

bool is_outside(const PointOutcome& row) {
  const double step = row.samples_per_step / row.measured->throughput.value();
  return row.gpus > 1 && (step < row.step_low().value() || step > row.step_high().value());
}

struct Count {
  int all = 0, first = 0, among = 0, claimed = 0, silent = 0, named = 0, no_news = 0;
};

// What a change of a quantity alone can make of a row, before it is predicted: whether that may be
// news. Others are predicted.
bool may_be_news(const std::string& what, const std::vector<PointOutcome>& described) {
  const std::map<std::string, std::pair<std::vector<Unknown>, double>> most{
      {"network", {{Unknown::network}, std::log(12)}},
      {"node links", {{Unknown::node_links, Unknown::network}, std::log(12)}},
      {"host", {{Unknown::host}, 20}}};
  const auto found = most.find(what);
  return found == most.end() || std::ranges::any_of(described, [&](const PointOutcome& row) {
           const double to_end = std::log(row.step_high() / row.step());
           return row.gpus > 1 && std::ranges::any_of(found->second.first, [&](Unknown quantity) {
                    return row.predicted->described.response.at(quantity, found->second.second) >
                           to_end;
                  });
         });
}

void print_one(const Drawn& base, const Changed& change,
               const std::optional<FoundContradiction>& found) {
  fmt::print("  {} on {}, {}, gpus {}\n  {}\n", base.settings.at("workload.model"),
             base.settings.at("cluster.preset"), base.settings.at("training.strategy"),
             fmt::join(base.gpus, " "), found ? found->sentence() : "nothing is outside");
  for (const auto& [path, value] : change.settings) {
    const auto before = base.settings.find(path);
    const bool is_new = before == base.settings.end();
    if (is_new || before->second != value) {
      fmt::print("    {}: {} was {}\n", path, value, is_new ? "not given" : before->second);
    }
  }
}

void add(Count& count, const Planted& one, const std::optional<FoundContradiction>& found) {
  std::vector<Cause> causes;
  if (found) {
    for (const auto& cause : found->explained_by) causes.push_back(cause.kind);
  }
  ++count.all;
  const bool is_claimed = found && found->is_claimed();
  count.claimed += is_claimed ? 1 : 0;
  count.silent += causes.empty() ? 1 : 0;
  count.named += static_cast<int>(causes.size());
  count.first += is_claimed && one.right.contains(causes.front()) ? 1 : 0;
  count.among +=
      std::ranges::any_of(causes, [&](Cause c) { return one.right.contains(c); }) ? 1 : 0;
}

// Machines drawn of a scenario in which nothing is planted.
constexpr int machines = 20;

bool try_one(Random& random, const Planted& one, Count& count, bool is_verbose) {
  const auto base = drawn(random);
  if (!base) return false;
  std::vector<PointOutcome> described = predicted(base->settings, base->gpus);
  const auto change = changed(one.name, random, *base, described);
  if (!change) return false;
  const bool is_nothing = one.right.empty();
  if (!may_be_news(one.name, described)) {
    ++count.no_news;
    return false;
  }
  const auto as_changed = is_nothing ? described : predicted_as(*change, *base, described);
  if (!is_nothing) {
    std::vector<Values> as_described;
    for (const PointOutcome& row : as_changed) {
      as_described.push_back(row.predicted->believed.values);
    }
    give(described, *change, as_changed, as_described, [] { return 0.0; });
  }
  const bool is_news = is_nothing || std::ranges::any_of(described, is_outside);
  for (int i = 0; i < (is_nothing ? machines : 1); ++i) {
    give(described, *change, as_changed, values_of(random, described),
         [&] { return 0.02 * normal(random); });
    if (!is_news || (!is_nothing && std::ranges::none_of(described, is_outside))) {
      ++count.no_news;
      return false;
    }
    const auto found = contradiction_of(described);
    add(count, one, found);
    if (is_verbose) print_one(*base, *change, found);
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t seeds = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 200;
  const std::uint64_t first = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  const bool is_verbose = argc > 3;
  std::map<std::string, Count> counts;
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    const Planted& one = planted[seed % planted.size()];
    Random random(seed);
    if (is_verbose) fmt::print("{} {}\n", seed, one.name);
    for (int attempt = 0; attempt < 200; ++attempt) {
      try {
        if (try_one(random, one, counts[one.name], is_verbose)) break;
      } catch (const std::exception& error) {
        if (is_verbose) fmt::print("  not drawn: {}\n", error.what());
      }
    }
  }
  fmt::print("{:12} {:>9} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7}\n", "planted", "scenarios", "first",
             "among", "claimed", "silent", "named", "no news");
  const auto print = [](const std::string& name, const Count& c) {
    const auto part = [&](int some) { return fmt::format("{:.0f} %", 100.0 * some / c.all); };
    fmt::print("{:12} {:9} {:>7} {:>7} {:>7} {:>7} {:7.1f} {:7}\n", name, c.all, part(c.first),
               part(c.among), part(c.claimed), part(c.silent),
               static_cast<double>(c.named) / std::max(c.all - c.silent, 1), c.no_news);
  };
  Count sum;
  for (const auto& [name, c] : counts) {
    print(name, c);
    if (name == "nothing") continue;
    sum.all += c.all, sum.first += c.first, sum.among += c.among, sum.silent += c.silent;
    sum.claimed += c.claimed, sum.named += c.named, sum.no_news += c.no_news;
  }
  print("all planted", sum);
}

// What training attains of a GPU, learnt from measured steps, and judged on sources left out.
//
//   one_gpu                 every row predicted from the rows of all other sources, and sums
//   one_gpu --fit           what all rows say: the figures of models/workload/attained.cpp; exits
//                           with 1 where these differ by more than their last digit, or a row
//                           is faster than its device's peaks
//   one_gpu --carried       rows predicted from other sources' and from its own source's rows on
//   other
//                           devices or in other precisions, beside those of others alone
//   one_gpu --without NAME  a quantity (its number in the table) stays what was expected of it
//
// Gauss-Newton on logarithms of steps (Student's t with 4 degrees of freedom, upwards 1.5 times as
// wide, as other work only makes a step longer). Sources have an effect of their own; rows of one
// source, network, device and precision share the weight of one.

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "models/stats/normal.h"
#include "models/workload/attained.h"
#include "models/workload/carried.h"
#include "scenarios/document/document.h"
#include "scenarios/errors.h"
#include "scenarios/loader/load_scenario.h"

namespace paceline::test {
namespace {

using workload::Attained;
using workload::quantities;
using Group = std::tuple<std::string, std::string, std::string, workload::Precision>;

constexpr auto folder = PACELINE_SOURCE_DIR;

struct Row {
  std::string source, framework, network;
  Scenario scenario;
  bool has_optimizer = true;
  double log_step = 0;

  [[nodiscard]] const workload::Device& device() const { return scenario.workload.device; }
  [[nodiscard]] workload::OneGpu run() const {
    workload::OneGpu one{*scenario.network, scenario.workload.batch_per_gpu, 1, scenario.precision,
                         device()};
    if (has_optimizer) one.optimizer = scenario.workload.optimizer_states;
    return one;
  }
  [[nodiscard]] Group group() const { return {source, network, device().name, scenario.precision}; }
  [[nodiscard]] bool is_of_products() const {
    return std::ranges::any_of(scenario.network->layers, [](const workload::Layer& layer) {
      const auto* cost = std::get_if<workload::ModelledCost>(&layer.cost);
      return cost != nullptr && cost->work == workload::Work::attention;
    });
  }
};

Scenario scenario_of(const std::vector<std::string>& cells) {
  const auto& [network, sequence, heads] = std::tie(cells[2], cells[3], cells[4]);
  const auto shipped = fmt::format("{}/scenarios/library/networks/{}.yaml", folder, network);
  const bool is_file = std::filesystem::exists(shipped);
  std::string text = fmt::format(
      "schema: paceline/1\nname: row\nworkload:\n  model: {}\n  batch_per_gpu: {}\n"
      "  precision: {}\n  device: {}\n",
      is_file ? shipped : network, cells[5], cells[6], cells[7]);
  if (!sequence.empty()) text += "  sequence: " + sequence + "\n";
  if (!heads.empty()) text += "  pretraining_heads: true\n";
  if (!cells[10].empty()) text += fmt::format("  memory_format: {}\n", cells[10]);
  text += fmt::format(
      "cluster: {{preset: flat}}\ntraining: {{strategy: ddp, optimizer: {{kind: {}}}}}\n",
      cells[8] == "none" ? "sgd" : cells[8]);
  return loader::load_scenario(loader::parse_document("row", text), {});
}

std::vector<Row> read_rows() {
  std::ifstream file(fmt::format("{}/tests/bench/one_gpu_rows.csv", folder));
  std::vector<Row> rows;
  bool is_header = true;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    if (std::exchange(is_header, false)) continue;
    std::vector<std::string> cells{""};
    for (const char c : line) {
      if (c == ',') {
        cells.emplace_back();
      } else {
        cells.back() += c;
      }
    }
    rows.push_back({cells[0], cells[1], cells[2], scenario_of(cells), cells[8] != "none",
                    std::log(std::stod(cells[9]))});
  }
  return rows;
}

// Logarithms of steps, and how they change with those of the quantities.
struct Modelled {
  Eigen::VectorXd log_steps;
  Eigen::MatrixXd by_quantity;
};

// With one quantity's logarithm moved, or none.
double log_step(const Row& row, const Eigen::VectorXd& logs, std::size_t moved, double by) {
  Attained attained{};
  for (std::size_t q = 0; q < quantities; ++q) {
    attained[q] = std::exp(logs[static_cast<Eigen::Index>(q)] + (q == moved ? by : 0));
  }
  return std::log(one_gpu_step(row.run(), attained).value());
}

Modelled modelled(const std::vector<Row>& rows, const Eigen::VectorXd& logs) {
  constexpr double moved_by = 1e-4;
  Modelled made{Eigen::VectorXd(rows.size()), Eigen::MatrixXd(rows.size(), quantities)};
  for (Eigen::Index r = 0; r < made.log_steps.size(); ++r) {
    const Row& row = rows[static_cast<std::size_t>(r)];
    made.log_steps[r] = log_step(row, logs, quantities, 0);
    for (std::size_t q = 0; q < quantities; ++q) {
      const double apart = log_step(row, logs, q, moved_by) - made.log_steps[r];
      made.by_quantity(r, static_cast<Eigen::Index>(q)) = apart / moved_by;
    }
  }
  return made;
}

struct Fit {
  Eigen::VectorXd logs;        // of the quantities
  Eigen::MatrixXd covariance;  // likewise
};

// The logarithms of the quantities, and then what each source is longer by.
class Posterior {
 public:
  // Quantities of `held` stay where they were expected.
  Posterior(const std::vector<Row>& rows, const std::set<std::size_t>& held) : rows_(rows) {
    for (const Row& row : rows) {
      sources_.emplace(row.source, static_cast<Eigen::Index>(quantities + sources_.size()));
      sizes_[row.group()] += 1;
    }
    const auto all = static_cast<Eigen::Index>(quantities + sources_.size());
    before_ = Eigen::VectorXd::Zero(all);
    precision_ = Eigen::VectorXd::Constant(all, std::pow(workload::source_spread, -2));
    for (std::size_t q = 0; q < quantities; ++q) {
      const auto& known = workload::known_quantities()[q];
      const auto at = static_cast<Eigen::Index>(q);
      before_[at] = std::log(known.before);
      precision_[at] = std::pow(held.contains(q) ? 1e-4 : known.before_spread, -2);
    }
  }

  // Gauss and Newton's steps, halved until they lead down.
  [[nodiscard]] Fit fit() const {
    Eigen::VectorXd x = before_;
    double least = cost(x);
    Eigen::MatrixXd normal;
    for (int step = 0; step < 50; ++step) {
      Eigen::VectorXd gradient;
      equations(x, normal, gradient);
      Eigen::VectorXd change = normal.ldlt().solve(gradient);
      double next = cost(x + change);
      while (next > least && change.norm() > 1e-6) {
        change /= 2;
        next = cost(x + change);
      }
      if (next > least) break;
      x += change;
      const double gain = least - next;
      least = next;
      if (gain < 1e-5) break;
    }
    const Eigen::MatrixXd covariance = normal.inverse();
    return {x.head(quantities), covariance.topLeftCorner(quantities, quantities)};
  }

 private:
  static constexpr double freedom = 4, upwards = 1.5;

  [[nodiscard]] static double spread_at(double apart) {
    return workload::row_spread * (apart > 0 ? upwards : 1);
  }
  [[nodiscard]] double apart_of(Eigen::Index row, double modelled, const Eigen::VectorXd& x) const {
    const Row& one = rows_[static_cast<std::size_t>(row)];
    return one.log_step - modelled - x[sources_.at(one.source)];
  }

  [[nodiscard]] double cost(const Eigen::VectorXd& x) const {
    double sum = (x - before_).cwiseAbs2().dot(precision_);
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      const Row& row = rows_[r];
      const double modelled = log_step(row, x.head(quantities), quantities, 0);
      const double apart = apart_of(static_cast<Eigen::Index>(r), modelled, x);
      sum += (freedom + 1) * std::log1p(std::pow(apart / spread_at(apart), 2) / freedom) /
             sizes_.at(row.group());
    }
    return sum;
  }

  void equations(const Eigen::VectorXd& x, Eigen::MatrixXd& normal,
                 Eigen::VectorXd& gradient) const {
    const Modelled now = modelled(rows_, x.head(quantities));
    normal = precision_.asDiagonal();
    gradient = precision_.cwiseProduct(before_ - x);
    for (Eigen::Index r = 0; r < now.log_steps.size(); ++r) {
      const Row& row = rows_[static_cast<std::size_t>(r)];
      Eigen::VectorXd slope = Eigen::VectorXd::Zero(x.size());
      slope.head(quantities) = now.by_quantity.row(r);
      slope[sources_.at(row.source)] = 1;
      const double apart = apart_of(r, now.log_steps[r], x);
      const double spread = spread_at(apart);
      const double weight = (freedom + 1) / (freedom + std::pow(apart / spread, 2)) /
                            (spread * spread) / sizes_.at(row.group());
      normal += weight * slope * slope.transpose();
      gradient += weight * apart * slope;
    }
  }

  const std::vector<Row>& rows_;
  std::map<std::string, Eigen::Index> sources_;
  std::map<Group, double> sizes_;
  Eigen::VectorXd before_, precision_;
};

struct Judged {
  const Row* row = nullptr;
  double apart = 0;           // logarithm of measured over predicted
  double spread = 0;          // predicted standard deviation of it
  bool has_kin = false;       // rows of other sources on that device with layers of that kind
  const Row* from = nullptr;  // of its own source, what was carried over

  [[nodiscard]] bool is_inside() const { return std::abs(apart) <= stats::normal_90 * spread; }
  [[nodiscard]] double error() const { return std::abs(std::exp(-apart) - 1); }  // of the step
  [[nodiscard]] std::pair<Group, Group> group() const {
    return {row->group(), from == nullptr ? row->group() : from->group()};
  }
  [[nodiscard]] double width() const { return std::exp(2 * stats::normal_90 * spread); }
};

bool are_kin(const Row& one, const Row& other) {
  return one.source != other.source && one.device().name == other.device().name &&
         one.scenario.precision == other.scenario.precision &&
         one.is_of_products() == other.is_of_products();
}

// As one_gpu_spread has it: each quantity by itself.
double spread_of(const Eigen::VectorXd& slope, const Fit& made) {
  double variance = std::pow(workload::source_spread, 2) + std::pow(workload::row_spread, 2);
  for (std::size_t q = 0; q < quantities; ++q) {
    const auto at = static_cast<Eigen::Index>(q);
    double own = made.covariance(at, at);
    if (static_cast<workload::Quantity>(q) == workload::Quantity::launches) {
      own += std::pow(workload::host_spread, 2);
    }
    variance += own * slope[at] * slope[at];
  }
  return std::sqrt(variance);
}

std::vector<Judged> judge(const std::vector<Row>& rows, const std::set<std::size_t>& held) {
  std::set<std::string> sources;
  for (const Row& row : rows) sources.insert(row.source);
  std::vector<Judged> judged;
  for (const std::string& source : sources) {
    std::vector<Row> others;
    std::ranges::copy_if(rows, std::back_inserter(others),
                         [&](const Row& row) { return row.source != source; });
    const Fit made = Posterior(others, held).fit();
    const Modelled all = modelled(rows, made.logs);
    for (std::size_t r = 0; r < rows.size(); ++r) {
      if (rows[r].source != source) continue;
      const auto at = static_cast<Eigen::Index>(r);
      judged.push_back(
          {&rows[r], rows[r].log_step - all.log_steps[at],
           spread_of(all.by_quantity.row(at).transpose(), made),
           std::ranges::any_of(others, [&](const Row& other) { return are_kin(rows[r], other); })});
    }
  }
  return judged;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

// Rows, and then groups of them that weigh alike.
void print_sum(const std::string& of, const std::vector<Judged>& judged,
               const std::function<bool(const Judged&)>& counts) {
  std::vector<double> errors, widths;
  std::map<std::pair<Group, Group>, std::vector<const Judged*>> groups;
  double inside = 0;
  for (const Judged& one : judged) {
    if (!counts(one)) continue;
    errors.push_back(one.error());
    widths.push_back(one.width());
    inside += one.is_inside() ? 1 : 0;
    groups[one.group()].push_back(&one);
  }
  if (errors.empty()) return;
  double of_groups = 0;
  std::vector<double> group_errors;
  for (const auto& [key, members] : groups) {
    double mean = 0, within = 0;
    for (const Judged* one : members) {
      mean += one->error();
      within += one->is_inside() ? 1 : 0;
    }
    group_errors.push_back(mean / static_cast<double>(members.size()));
    of_groups += within / static_cast<double>(members.size());
  }
  double mean = 0;
  for (const double error : errors) mean += error;
  fmt::print(
      "{:36} {:4} rows: median {:4.1f} %, mean {:4.1f} %, inside {:3.0f} %, width {:.2f}; {:3} "
      "groups: median {:4.1f} %, inside {:3.0f} %\n",
      of, errors.size(), 100 * median(errors), 100 * mean / static_cast<double>(errors.size()),
      100 * inside / static_cast<double>(errors.size()), median(widths), groups.size(),
      100 * median(group_errors), 100 * of_groups / static_cast<double>(groups.size()));
}

void print_rows(std::vector<Judged> judged) {
  for (const Judged& one : judged) {
    const Row& row = *one.row;
    const double step = 1e3 * std::exp(row.log_step);
    fmt::print(
        "{:14} {:22} {:18} {:16} {:4} {:5} {:8.1f} ms, predicted {:8.1f} ({:+4.0f} %), 90 % "
        "{:.1f} to {:.1f}{}{}\n",
        row.source, row.framework.substr(0, 22), row.network, row.device().name,
        to_text(row.scenario.precision), row.scenario.workload.batch_per_gpu, step,
        step * std::exp(-one.apart), 100 * (std::exp(-one.apart) - 1),
        step * std::exp(-one.apart - stats::normal_90 * one.spread),
        step * std::exp(-one.apart + stats::normal_90 * one.spread),
        one.is_inside() ? "" : "  outside", one.has_kin ? "" : "  no kin");
  }
}

void print_sums(const std::vector<Judged>& judged) {
  print_sum("all", judged, [](const Judged&) { return true; });
  print_sum("device and kind have others' rows", judged,
            [](const Judged& one) { return one.has_kin; });
  print_sum("they have none", judged, [](const Judged& one) { return !one.has_kin; });
  print_sum("convolutions", judged, [](const Judged& one) { return !one.row->is_of_products(); });
  print_sum("transformers", judged, [](const Judged& one) { return one.row->is_of_products(); });
  print_sum("PyTorch alone", judged,
            [](const Judged& one) { return one.row->framework.starts_with("PyTorch"); });
  std::set<std::string> devices, sources;
  for (const Judged& one : judged) {
    devices.insert(one.row->device().name);
    sources.insert(one.row->source);
  }
  for (const std::string& device : devices) {
    print_sum(device, judged, [&](const Judged& one) { return one.row->device().name == device; });
  }
  for (const std::string& source : sources) {
    print_sum(source, judged, [&](const Judged& one) { return one.row->source == source; });
  }
}

// A row of a source by the model alone, learnt from other sources, and with what the source's rows
// on other devices or in other precisions say.
struct CarriedRow {
  Judged alone, carried;
};

workload::StepErrors errors_of(const Row& row, const Eigen::VectorXd& slope, const Fit& made) {
  workload::StepErrors errors{row.device().name, row.scenario.precision};
  for (std::size_t q = 0; q < quantities; ++q) {
    const auto at = static_cast<Eigen::Index>(q);
    errors.of_quantities[q] = slope[at] * std::sqrt(made.covariance(at, at));
  }
  const auto launches = static_cast<Eigen::Index>(workload::Quantity::launches);
  errors.of_host = slope[launches] * workload::host_spread;
  return errors;
}

// What can be carried over to a row.
bool is_elsewhere(const Row& one, const Row& to) {
  return one.source == to.source && one.framework == to.framework && one.network == to.network &&
         one.group() != to.group();
}

// Rows of a source, and how far each is from what all other sources say.
std::vector<workload::KnownStep> steps_of(const std::vector<Row>& rows, const std::string& source) {
  std::vector<Row> others;
  std::ranges::copy_if(rows, std::back_inserter(others),
                       [&](const Row& row) { return row.source != source; });
  const Fit made = Posterior(others, {}).fit();
  const Modelled all = modelled(rows, made.logs);
  std::vector<workload::KnownStep> steps;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const auto at = static_cast<Eigen::Index>(r);
    steps.push_back({errors_of(rows[r], all.by_quantity.row(at).transpose(), made),
                     rows[r].log_step - all.log_steps[at]});
  }
  return steps;
}

CarriedRow carried_row(const workload::KnownStep& step, const Row& row, const Row& from,
                       const std::vector<workload::KnownStep>& known) {
  const auto alone = carry_over({}, step.errors), carried = carry_over(known, step.errors);
  const double left = step.log_apart - std::log(carried.factor);
  return {{&row, step.log_apart, alone.spread, false, &from},
          {&row, left, carried.spread, false, &from}};
}

// One row to another each, or all at once to each.
std::vector<CarriedRow> judge_carried(const std::vector<Row>& rows, bool all_at_once) {
  std::map<std::string, std::vector<workload::KnownStep>> by_source;
  for (const Row& row : rows) by_source.try_emplace(row.source);
  for (auto& [source, steps] : by_source) steps = steps_of(rows, source);
  std::vector<CarriedRow> judged;
  for (std::size_t to = 0; to < rows.size(); ++to) {
    const std::vector<workload::KnownStep>& steps = by_source.at(rows[to].source);
    std::vector<workload::KnownStep> known;
    for (std::size_t from = 0; from < rows.size(); ++from) {
      if (!is_elsewhere(rows[from], rows[to])) continue;
      known.push_back(steps[from]);
      if (!all_at_once) {
        judged.push_back(carried_row(steps[to], rows[to], rows[from], {steps[from]}));
      }
    }
    if (all_at_once && !known.empty()) {
      judged.push_back(carried_row(steps[to], rows[to], rows[to], known));
    }
  }
  return judged;
}

void print_carried(const std::string& of, const std::vector<CarriedRow>& judged,
                   const std::function<bool(const Judged&)>& counts) {
  std::vector<Judged> alone, carried;
  std::size_t closer = 0;
  for (const CarriedRow& one : judged) {
    if (!counts(one.alone)) continue;
    alone.push_back(one.alone);
    carried.push_back(one.carried);
    if (std::abs(one.carried.apart) < std::abs(one.alone.apart)) closer += 1;
  }
  if (alone.empty()) return;
  const auto every = [](const Judged&) { return true; };
  print_sum(of, alone, every);
  print_sum(fmt::format("  carried over, {} closer", closer), carried, every);
}

void print_all_carried(const std::vector<CarriedRow>& judged) {
  const auto is_of_device = [](const Judged& one) {
    return one.row->device().name == one.from->device().name;
  };
  const auto is_in_precision = [](const Judged& one) {
    return one.row->scenario.precision == one.from->scenario.precision;
  };
  print_carried("all", judged, [](const Judged&) { return true; });
  print_carried("another device, same precision", judged,
                [&](const Judged& one) { return !is_of_device(one) && is_in_precision(one); });
  print_carried("another device and precision", judged,
                [&](const Judged& one) { return !is_of_device(one) && !is_in_precision(one); });
  print_carried("same device, another precision", judged,
                [&](const Judged& one) { return is_of_device(one) && !is_in_precision(one); });
  print_carried("convolutions", judged,
                [](const Judged& one) { return !one.row->is_of_products(); });
  print_carried("transformers", judged,
                [](const Judged& one) { return one.row->is_of_products(); });
  std::set<std::string> sources;
  for (const CarriedRow& one : judged) sources.insert(one.alone.row->source);
  for (const std::string& source : sources) {
    print_carried(source, judged, [&](const Judged& one) { return one.row->source == source; });
  }
}

// Whether the table is what the rows say.
bool print_fit(const std::vector<Row>& rows) {
  const Fit made = Posterior(rows, {}).fit();
  bool is_in_use = true;
  for (std::size_t q = 0; q < quantities; ++q) {
    const auto at = static_cast<Eigen::Index>(q);
    const auto& known = workload::known_quantities()[q];
    fmt::print("{:2} {:38} {:9.3g}, {:.2f}   in use {:9.3g}, {:.2f}   before {:9.3g}, {:.2f}\n", q,
               known.name, std::exp(made.logs[at]), std::sqrt(made.covariance(at, at)), known.value,
               known.spread, known.before, known.before_spread);
    // Three digits are written down of a value, two of its deviation.
    is_in_use = is_in_use && std::abs(std::exp(made.logs[at]) / known.value - 1) < 0.006 &&
                std::abs(std::sqrt(made.covariance(at, at)) - known.spread) < 0.006;
  }
  return is_in_use;
}

// Whether no row is faster than what no code can beat.
bool keep_to_peaks(const std::vector<Row>& rows) {
  bool keep = true;
  for (const Row& row : rows) {
    Bytes kept;
    for (const auto& tensor : workload::parameters(*row.scenario.network)) {
      if (row.has_optimizer) {
        kept += optimizer_memory(*row.run().optimizer, tensor.count, tensor.type);
      }
    }
    const Seconds least =
        workload::time_at_peak(*row.scenario.network, row.run().batch, row.scenario.precision,
                               row.device(), kept * 2 / row.device().memory_bandwidth);
    if (std::exp(row.log_step) >= least.value()) continue;
    fmt::print("{} of {} on {} beats its peaks\n", row.network, row.source, row.device().name);
    keep = false;
  }
  return keep;
}

int run(const std::vector<std::string>& arguments) {
  std::set<std::size_t> held;
  const std::vector<Row> rows = read_rows();
  if (!arguments.empty() && arguments[0] == "--fit") {
    return print_fit(rows) && keep_to_peaks(rows) ? 0 : 1;
  }
  if (!arguments.empty() && arguments[0] == "--carried") {
    fmt::print("one row carried over to another of its source, framework and network\n");
    print_all_carried(judge_carried(rows, false));
    fmt::print("\nall such rows carried over at once\n");
    print_all_carried(judge_carried(rows, true));
    return 0;
  }
  for (std::size_t i = 0; i + 1 < arguments.size(); i += 2) {
    if (arguments[i] == "--without") held.insert(std::stoul(arguments[i + 1]));
  }
  const std::vector<Judged> judged = judge(rows, held);
  if (held.empty()) print_rows(judged);
  print_sums(judged);
  return 0;
}

}  // namespace
}  // namespace paceline::test

int main(int argc, char** argv) try {
  return paceline::test::run({argv + 1, argv + argc});
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 2;
}

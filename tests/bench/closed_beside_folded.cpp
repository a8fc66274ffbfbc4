// Random scenarios predicted by the closed formulas and folded: how far apart, at what cost.
//
//   closed_beside_folded [SCENARIOS [FIRST SEED [PROCESSES]]]    2000, from 1 on, one a core
//
// Exits with 1 where a bar is missed. Scenarios are those of tests/scenarios/relations. They are
// predicted in processes of their own, so that one that crashes or hangs costs its scenario.

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <optional>
#include <sstream>
#include <thread>

#include "scenarios/errors.h"
#include "scenarios/predict/effort.h"
#include "scenarios/predict/evidence.h"
#include "scenarios/predict/predict_point.h"
#include "scenarios/predict/simulator.h"
#include "scenarios/prepare/preparer.h"
#include "tests/scenarios/relations/random_scenario.h"

namespace paceline::test {
namespace {

// The bars: parts of all scenarios that both could tell of, and how far apart the others may be.
constexpr double refused_most = 0.01, noted_most = 0.05, apart_most = 0.01;

// What the closed prediction of a scenario came to; the words are those of the children's lines.
// Folded refuses and fails, too; then there is nothing to compare with.
enum class Kind { compared, noted, refused, failed, no_scenario, not_folded };

constexpr auto words_of(Kind) {
  return words_up_to<Kind::not_folded>("compared", "noted", "refused", "failed", "no_scenario",
                                       "not_folded");
}

struct Row {
  std::uint64_t seed = 0;
  Kind kind = Kind::failed;
  double closed_s = 0, folded_s = 0;  // steps
  std::string why;                    // a note, a refusal or a failure

  [[nodiscard]] double apart() const { return std::abs(closed_s / folded_s - 1); }
};

// CPU seconds.
struct Cost {
  double preparing = 0, closed = 0, folded = 0;
};

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

double cpu_seconds(int who) {
  rusage usage{};
  ::getrusage(who, &usage);
  return seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
}

// Adds what a block takes.
class Counted {
 public:
  explicit Counted(double& seconds) : seconds_(seconds) {}
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  ~Counted() { seconds_ += cpu_seconds(RUSAGE_SELF) - begin_; }

 private:
  double& seconds_;
  double begin_ = cpu_seconds(RUSAGE_SELF);
};

// As run_scenario does it of a file with one point, on a simulator that serves many files.
Predicted predict(const std::string& file_path, const char* fidelity, Simulator& simulator,
                  double& preparing, double& predicting) {
  const Location where{file_path, 0, 0};
  std::optional<ScenarioFile> file;
  std::optional<Preparer> points;
  std::shared_ptr<const PreparedPoint> prepared;
  Effort effort;
  {
    const Counted counted(preparing);
    file = ScenarioFile::read(file_path, {{"simulation.fidelity", fidelity}});
    prepared = points.emplace(*file).prediction(0);
    effort = effort_of(prepared->point, false, where);
  }
  const Counted counted(predicting);
  return predict_point(prepared, unconditioned_belief(), [&](const ResolvedPoint& point) {
    return simulator.reply_to(point, effort.limit);
  });
}

// One of the two; a refusal, as of a file, is a failure of that cause.
Predicted outcome_of(const std::function<Predicted()>& make) {
  try {
    return make();
  } catch (const InputError& error) {
    return PointFailure{FailureCause::refused, error.what()};
  } catch (const std::exception& error) {
    return PointFailure{FailureCause::failed, error.what()};
  }
}

Row compared(std::uint64_t seed, const Predicted& closed, const Predicted& folded) {
  const auto* of_closed = std::get_if<PointFailure>(&closed);
  if (const auto* failure = std::get_if<PointFailure>(&folded)) {
    const bool is_neither = of_closed != nullptr && of_closed->cause == FailureCause::refused &&
                            failure->cause == FailureCause::refused;
    return {seed, is_neither ? Kind::no_scenario : Kind::not_folded, 0, 0, failure->why};
  }
  if (of_closed != nullptr) {
    const bool is_refused = of_closed->cause == FailureCause::refused;
    return {seed, is_refused ? Kind::refused : Kind::failed, 0, 0, of_closed->why};
  }
  const auto& made = std::get<Prediction>(closed);
  Row row{seed, Kind::compared, made.totals.step.value(),
          std::get<Prediction>(folded).totals.step.value(), ""};
  const auto note = std::ranges::find_if(
      made.assumptions, [](const std::string& text) { return text.starts_with("closed"); });
  if (note != made.assumptions.end()) {
    row.kind = Kind::noted;
    row.why = *note;
  } else if (!std::isfinite(row.apart())) {
    row.kind = Kind::failed;
    row.why = fmt::format("a step of {} s beside {} s", row.closed_s, row.folded_s);
  }
  return row;
}

std::string on_one_line(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return text;
}

// In a process of its own: lines when a scenario's predictions begin and one of what came of it,
// and at the end one of the CPU time. A scenario that hangs ends the process.
void predict_all(std::uint64_t first, std::uint64_t count, const std::filesystem::path& folder) {
  constexpr unsigned hangs_after_s = 300;
  std::ofstream out(folder / fmt::format("{}.txt", first));
  const std::string path = (folder / fmt::format("{}.yaml", first)).string();
  Cost cost;
  {
    Simulator simulator(std::max(1U, std::thread::hardware_concurrency()));
    for (std::uint64_t seed = first; seed < first + count; ++seed) {
      ::alarm(hangs_after_s);
      std::ofstream(path) << random_scenario(seed).text();
      const auto of = [&](const char* fidelity, double& seconds) {
        out << fmt::format("begin {} {}\n", seed, fidelity) << std::flush;
        return outcome_of(
            [&] { return predict(path, fidelity, simulator, cost.preparing, seconds); });
      };
      const Predicted closed = of("closed", cost.closed), folded = of("folded", cost.folded);
      const Row row = compared(seed, closed, folded);
      out << fmt::format("row {} {} {} {} {}\n", seed, to_text(row.kind), row.closed_s,
                         row.folded_s, on_one_line(row.why))
          << std::flush;
    }
  }
  cost.folded += cpu_seconds(RUSAGE_CHILDREN);  // the simulator's process
  out << fmt::format("cost {} {} {}\n", cost.preparing, cost.closed, cost.folded);
}

struct Share {
  std::uint64_t first, count;
};

// All rows, and what they cost but for processes that crashed.
struct Found {
  std::vector<Row> rows;
  Cost cost;

  // Of a process that ended; what it left undone where it crashed.
  std::optional<Share> take(const Share& share, int status, const std::filesystem::path& file) {
    std::ifstream in(file);
    std::string line, word, kind, fidelity = "closed";
    std::uint64_t begun = share.first, done = 0;
    while (std::getline(in, line)) {
      std::istringstream words(line);
      words >> word;
      if (word == "begin") words >> begun >> fidelity;
      if (word == "row") {
        Row& row = rows.emplace_back();
        words >> row.seed >> kind >> row.closed_s >> row.folded_s >> std::ws;
        row.kind = *from_text<Kind>(kind);
        std::getline(words, row.why);
        ++done;
      }
      if (word != "cost") continue;
      Cost some;
      words >> some.preparing >> some.closed >> some.folded;
      cost.preparing += some.preparing;
      cost.closed += some.closed;
      cost.folded += some.folded;
    }
    if (done == share.count) return std::nullopt;
    rows.push_back({begun, fidelity == "closed" ? Kind::failed : Kind::not_folded, 0, 0,
                    fmt::format("ended by signal {}", WIFSIGNALED(status) ? WTERMSIG(status) : 0)});
    return Share{begun + 1, share.first + share.count - begun - 1};
  }
};

// A folder of its own, removed at the end with all that is in it.
struct Scratch {
  std::string path = (std::filesystem::temp_directory_path() / "paceline-XXXXXX").string();

  Scratch() {
    if (::mkdtemp(path.data()) == nullptr) throw std::runtime_error("no folder for scenarios");
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
};

Found predict_in_processes(std::uint64_t count, std::uint64_t first, std::size_t processes) {
  constexpr std::uint64_t share_most = 100;
  const Scratch scratch;
  const std::filesystem::path folder(scratch.path);
  std::deque<Share> left;
  for (std::uint64_t done = 0; done < count; done += share_most) {
    left.push_back({first + done, std::min(share_most, count - done)});
  }
  Found found;
  std::map<pid_t, Share> running;
  while (!left.empty() || !running.empty()) {
    while (!left.empty() && running.size() < processes) {
      const pid_t child = ::fork();
      if (child == 0) {
        predict_all(left.front().first, left.front().count, folder);
        ::_exit(0);
      }
      if (child < 0) throw std::runtime_error("no process to predict in");
      running.emplace(child, left.front());
      left.pop_front();
    }
    int status = 0;
    const auto ended = running.find(::waitpid(-1, &status, 0));
    if (ended == running.end()) continue;
    const Share share = ended->second;
    running.erase(ended);
    const auto rest = found.take(share, status, folder / fmt::format("{}.txt", share.first));
    if (rest && rest->count > 0) left.push_front(*rest);
    std::cerr << fmt::format("\r{} of {}", found.rows.size(), count) << std::flush;
  }
  std::cerr << '\n';
  return found;
}

// --- what is printed

using Rows = std::vector<const Row*>;

Rows of_kind(const Rows& rows, Kind kind) {
  Rows some;
  std::ranges::copy_if(rows, std::back_inserter(some),
                       [&](const Row* row) { return row->kind == kind; });
  return some;
}

// Of how many both could tell something: all that were folded.
std::size_t comparable(const Rows& rows) {
  return rows.size() - of_kind(rows, Kind::no_scenario).size() -
         of_kind(rows, Kind::not_folded).size();
}

double part(std::size_t some, std::size_t all) {
  return all == 0 ? 0 : static_cast<double>(some) / static_cast<double>(all);
}

void print_line(const std::string& name, const Rows& rows) {
  const Rows compared = of_kind(rows, Kind::compared);
  std::vector<double> apart;
  for (const Row* row : compared) apart.push_back(row->apart());
  std::ranges::sort(apart);
  // The least value that so many are at most.
  const auto at = [&](double quantile) {
    if (apart.empty()) return 0.0;
    const double rank = std::ceil(quantile * static_cast<double>(apart.size()));
    return apart[std::max<std::size_t>(1, static_cast<std::size_t>(rank)) - 1];
  };
  const auto above = std::ranges::count_if(apart, [](double one) { return one > apart_most; });
  const std::size_t all = comparable(rows);
  const auto percent_of = [&](Kind kind) { return 100 * part(of_kind(rows, kind).size(), all); };
  fmt::print(
      "| {} | {} | {} | {:.1f} % | {:.1f} % | {} | {:.3f} % | {:.3f} % | {:.3f} % | {:.1f} % |\n",
      name, all, of_kind(rows, Kind::failed).size(), percent_of(Kind::refused),
      percent_of(Kind::noted), compared.size(), 100 * at(0.95), 100 * at(0.99), 100 * at(1),
      100 * part(static_cast<std::size_t>(above), apart.size()));
}

void print_by(const char* path, const Rows& rows) {
  std::map<std::string, Rows> groups;
  for (const Row* row : rows) groups[random_scenario(row->seed).at(path)].push_back(row);
  for (const auto& [name, group] : groups) print_line(name, group);
}

void print_some(const char* title, const Rows& rows, std::size_t most) {
  if (rows.empty()) return;
  fmt::print("\n{} ({}):\n", title, rows.size());
  for (std::size_t i = 0; i < std::min(most, rows.size()); ++i) {
    fmt::print("  seed {}: {}\n", rows[i]->seed, rows[i]->why);
  }
}

void print_worst(Rows rows) {
  std::ranges::stable_sort(rows, std::greater(), [](const Row* row) { return row->apart(); });
  fmt::print("\nfarthest apart:\n");
  for (std::size_t i = 0; i < std::min<std::size_t>(10, rows.size()); ++i) {
    const Row& row = *rows[i];
    const Values values = random_scenario(row.seed);
    fmt::print("  seed {}: {:+.3f} %, closed {:.6g} s, folded {:.6g} s; {}, {} {}, {} x {} {}\n",
               row.seed, 100 * (row.closed_s / row.folded_s - 1), row.closed_s, row.folded_s,
               values.at("training.strategy"), values.at("collective.library"),
               values.at("collective.algorithm"), values.at("cluster.nodes"),
               values.at("cluster.gpus_per_node"), values.at("cluster.intra_node.kind"));
  }
}

bool print_bar(const char* what, double is, double most) {
  fmt::print("{}: {:.2f} %, bar {:.0f} %: {}\n", what, 100 * is, 100 * most,
             is <= most ? "met" : "MISSED");
  return is <= most;
}

int report(const Found& found) {
  Rows rows;
  for (const Row& row : found.rows) rows.push_back(&row);
  std::ranges::sort(rows, {}, &Row::seed);
  fmt::print(
      "{} drawn, of which {} are no scenarios (refused whatever the fidelity) and {} could "
      "not be folded\n\n",
      rows.size(), of_kind(rows, Kind::no_scenario).size(), of_kind(rows, Kind::not_folded).size());
  fmt::print(
      "| | folded | closed fails | is refused | has a note | compared | 95 % are within | 99 % | "
      "all | apart by more than {:.0f} % |\n|---|---|---|---|---|---|---|---|---|---|\n",
      100 * apart_most);
  print_line("all", rows);
  print_by("training.strategy", rows);
  print_by("collective.library", rows);
  print_some("closed failed", of_kind(rows, Kind::failed), rows.size());
  print_some("folded did not", of_kind(rows, Kind::not_folded), rows.size());
  print_some("closed refused, some", of_kind(rows, Kind::refused), 10);
  print_some("closed with a note, some", of_kind(rows, Kind::noted), 10);
  print_worst(of_kind(rows, Kind::compared));
  fmt::print("\nCPU time: {:.1f} s closed, {:.1f} s folded, {:.1f} s to read and prepare both\n\n",
             found.cost.closed, found.cost.folded, found.cost.preparing);
  const Rows compared = of_kind(rows, Kind::compared);
  const auto above = static_cast<std::size_t>(
      std::ranges::count_if(compared, [](const Row* row) { return row->apart() > apart_most; }));
  const std::size_t all = comparable(rows);
  bool is_met = print_bar("refused", part(of_kind(rows, Kind::refused).size(), all), refused_most);
  is_met &= print_bar("noted", part(of_kind(rows, Kind::noted).size(), all), noted_most);
  is_met &= print_bar("others apart by more than 1 %", part(above, compared.size()), 0);
  is_met &= print_bar("failed", part(of_kind(rows, Kind::failed).size(), all), 0);
  return is_met ? 0 : 1;
}

}  // namespace
}  // namespace paceline::test

int main(int count, char** arguments) {
  using namespace paceline;
  const auto number = [&](int place, std::uint64_t unless_given) {
    return count > place ? std::strtoull(arguments[place], nullptr, 10) : unless_given;
  };
  const std::uint64_t scenarios = number(1, 2000), cores = std::thread::hardware_concurrency();
  const std::uint64_t processes = number(3, std::max<std::uint64_t>(1, cores));
  if (scenarios == 0 || processes == 0) {
    std::cerr << "closed_beside_folded [SCENARIOS [FIRST SEED [PROCESSES]]]\n";
    return 2;
  }
  const BrokenPipesIgnored ignored;
  return test::report(test::predict_in_processes(scenarios, number(2, 1), processes));
}

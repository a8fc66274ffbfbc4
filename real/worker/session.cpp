#include "real/worker/session.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <stdexcept>
#include <utility>
#include <vector>

#include "models/run/resolved_point.h"
#include "models/stats/errors.h"
#include "models/text/number.h"
#include "real/call_runner.h"
#include "real/errors.h"
#include "real/step_runner.h"
#include "traces/json/protocol.h"

namespace paceline::real {
namespace {

enum class Verb : char {
  point = 'p',         // get ready for a point: its line
  fill = 'f',          // buffers with inputs of a seed
  step = 's',          // run the step at a time of rank 0's clock
  check = 'c',         // the results
  intervals = 't',     // report when the operations of a step ran
  out_of_place = 'o',  // repeat the point's call, and report what it took: empty, not that way
  in_place = 'i',      // likewise
  leave = 'q',
};

// What a rank that heard of a step too late answers in place of a duration.
constexpr std::string_view late = "late";

// All digits, so that it is read as the same.
std::string text_of(Seconds time) {
  std::array<char, 32> text{};
  return {text.data(), std::to_chars(text.begin(), text.end(), time.value()).ptr};
}

Seconds seconds_from(const std::string& text) {
  if (const auto value = number_of<double>(text)) return Seconds(*value);
  throw std::runtime_error("another rank says \"" + text + "\" where it should say a time");
}

// How busy the CPUs of this machine are between start() and stop(), whatever runs there:
// /proc/stat, in ticks of 10 ms. Ticks are samples: beside the scheduler's exact times
// (cpuacct.usage), over 700 half seconds of 13 to 100 % load, at most 0.13 off, and 0.04 where the
// load is above 0.9.
class CpuTime {
 public:
  void start() { begin_ = now(); }
  void stop() {
    const Ticks end = now();
    sum_.idle += end.idle - begin_.idle;
    sum_.all += end.all - begin_.all;
  }
  // The busy part of all such intervals so far, 0..1; 0 where the machine does not say.
  [[nodiscard]] double busy() const {
    if (sum_.all == 0) return 0;
    return 1.0 - static_cast<double>(sum_.idle) / static_cast<double>(sum_.all);
  }

 private:
  struct Ticks {
    std::uint64_t idle = 0, all = 0;
  };

  // "cpu user nice system idle iowait irq softirq steal guest ..."; user has guest (proc(5)).
  static Ticks now() {
    std::ifstream file("/proc/stat");
    std::string word;
    file >> word;
    Ticks ticks;
    std::uint64_t value = 0;
    for (int column = 0; column < 8 && file >> value; ++column) {
      ticks.all += value;
      if (column == 3 || column == 4) ticks.idle += value;
    }
    return ticks;
  }

  Ticks begin_, sum_;
};

class Follower {
 public:
  Follower(Team& team, const SessionOptions& options) : team_(team), options_(options) {}

  std::string do_it(Verb verb, const std::string& text) {
    switch (verb) {
      case Verb::point: return get_ready(text);
      case Verb::fill: runner().fill(std::stoull(text)); return "";
      case Verb::step: return step(seconds_from(text));
      case Verb::check: return runner().find_fault().value_or("");
      case Verb::intervals: return traces::to_text(steps_.at(std::stoull(text)));
      case Verb::out_of_place: return repeat(CallRunner::Way::out_of_place);
      case Verb::in_place: return repeat(CallRunner::Way::in_place);
      case Verb::leave: return "";
    }
    throw std::runtime_error("rank 0 asks for something that this rank does not know");
  }

  [[nodiscard]] bool computes_for_real() const { return communicator_->in_order(); }

 private:
  [[nodiscard]] StepRunner& runner() const {
    if (!runner_) throw std::runtime_error("rank 0 asks for a step before its point");
    return *runner_;
  }

  std::string get_ready(const std::string& line) {
    if (!communicator_) connect();
    runner_.reset();
    calls_.reset();
    steps_.clear();
    try {
      point_ = traces::point_from_line(line);
      if (auto fault = find_fault(point_)) return *fault;
      if (auto fault = training::find_fault(point_.program)) return *fault;
      if (point_.measure && point_.measure->calls) {
        calls_ = std::make_unique<CallRunner>(point_, *communicator_);
      } else {
        runner_ = std::make_unique<StepRunner>(point_, *communicator_);
      }
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  }

  void connect() {
    ConnectRequest request;
    request.rank = team_.rank();
    request.size = team_.size();
    request.local_rank = options_.local_rank;
    // A little more patient than the control plane, which knows who is silent.
    request.timeout = options_.timeout + Seconds(1);
    request.address = team_.address();
    request.meeting = &team_;
    communicator_ = require_backend(options_.backend).connect(request);
  }

  // Who is late runs it all the same, for the others wait for it.
  std::string step(Seconds start_of_rank_0) {
    const Seconds start = start_of_rank_0 - team_.clock_offset();
    const bool is_late = steady_now() > start;
    steps_.push_back(runner().run(start));
    if (is_late) return std::string(late);
    Seconds end;
    for (const training::Interval& ran : steps_.back()) end = std::max(end, ran.end);
    return text_of(end);
  }

  std::string repeat(CallRunner::Way way) {
    if (!calls_) throw std::runtime_error("rank 0 asks for a call before its point");
    return calls_->has(way) ? traces::to_text(calls_->measure(way)) : "";
  }

  Team& team_;
  const SessionOptions& options_;
  std::unique_ptr<Communicator> communicator_;
  ResolvedPoint point_;
  std::unique_ptr<StepRunner> runner_;
  std::unique_ptr<CallRunner> calls_;                   // in its place for points of repeated calls
  std::vector<std::vector<training::Interval>> steps_;  // of the point
};

class Leader {
 public:
  Leader(Team& team, Follower& follower, const SessionOptions& options, const SessionLines& lines)
      : team_(team), follower_(follower), options_(options), lines_(lines) {}

  void lead() {
    while (const auto line = lines_.next()) lines_.reply(traces::to_line(measured(*line)));
    (void)all(Verb::leave, "");
  }

 private:
  std::vector<std::string> all(Verb verb, const std::string& text) {
    (void)team_.broadcast(static_cast<char>(verb) + text);
    return team_.gather(follower_.do_it(verb, text));
  }

  std::string complaint(Verb verb, const std::string& text) {
    for (const auto& said : all(verb, text)) {
      if (!said.empty()) return said;
    }
    return "";
  }

  traces::Reply measured(const std::string& line) {
    ResolvedPoint point;
    try {
      point = traces::point_from_line(line);
    } catch (const std::runtime_error& error) {
      throw UsageError(std::string("not a point: ") + error.what());
    }
    if (const auto fault = complaint(Verb::point, line); !fault.empty()) {
      return traces::Failure{point.id, fault};
    }
    steps_run_ = 0;
    ranks_ = job_cluster(point).ranks().value();
    const MeasureSettings settings = point.measure.value_or(MeasureSettings{});
    if (settings.calls) return repeated(point, settings.mode);
    if (const auto fault = checked_step(1); !fault.empty()) return wrong_sums(point, fault);
    for (std::uint32_t i = 1; i < settings.warmup; ++i) (void)step();
    Measurement measurement{options_.backend, settings.mode, {}, {}, {}, 0, team_.clock_error()};
    CpuTime cpu;
    std::vector<std::size_t> numbers;  // of the steps that count, among all that ran
    for (std::uint32_t i = 0; i < settings.steps; ++i) {
      cpu.start();
      measurement.steps.push_back(step());
      cpu.stop();
      numbers.push_back(steps_run_ - 1);
      lines_.reply(traces::to_line(traces::Progress{point.id, i, measurement.steps.back()}));
    }
    measurement.cpu_busy = cpu.busy();
    if (const auto fault = checked_step(2); !fault.empty()) return wrong_sums(point, fault);
    return result_of(point, std::move(measurement), numbers);
  }

  Result repeated(const ResolvedPoint& point, CollectiveMode mode) {
    CpuTime cpu;
    cpu.start();
    const RepeatedTimes calls{repeated(Verb::out_of_place), repeated(Verb::in_place)};
    cpu.stop();
    Measurement measurement{options_.backend, mode, {}, {}, {}, cpu.busy(), team_.clock_error()};
    measurement.calls = calls;
    Result result;
    result.id = point.id;
    result.fidelity = Fidelity::measured;
    result.trace.program = point.program;
    result.measurement = std::move(measurement);
    return result;
  }

  std::optional<RepeatedTime> repeated(Verb way) {
    std::optional<RepeatedTime> slowest;
    for (const std::string& text : all(way, "")) {
      if (text.empty()) return std::nullopt;  // nor has another rank
      const RepeatedTime of_rank = traces::call_time_from_text(text);
      if (!slowest) {
        slowest = of_rank;
        continue;
      }
      slowest->time = std::max(slowest->time, of_rank.time);
      slowest->alone = std::max(slowest->alone, of_rank.alone);
      if (slowest->device) slowest->device = std::max(slowest->device, of_rank.device);
      slowest->wrong += of_rank.wrong;
    }
    return slowest;
  }

  static traces::Failure wrong_sums(const ResolvedPoint& point, const std::string& fault) {
    return {point.id, "wrong result: " + fault};
  }

  // A step of its own: filling and checking are no part of what is measured.
  std::string checked_step(std::uint64_t seed) {
    do {
      (void)all(Verb::fill, std::to_string(seed));
    } while (!step_in_time());
    return complaint(Verb::check, "");
  }

  Seconds step() {
    while (true) {
      if (const auto time = step_in_time()) return *time;
    }
  }

  // The longest time of any rank, servers apart; nullopt when one of them or a rank was late.
  std::optional<Seconds> step_in_time() {
    const auto said = all(Verb::step, text_of(steady_now() + margin_));
    ++steps_run_;
    if (std::ranges::find(said, late) != said.end()) {
      margin_ = margin_ * 2.0;
      if (margin_ > options_.timeout) {
        throw BackendError(options_.backend, std::nullopt, "", "no start that all ranks hear of");
      }
      return std::nullopt;
    }
    Seconds longest;
    for (std::size_t r = 0; r < ranks_; ++r) longest = std::max(longest, seconds_from(said[r]));
    return longest;
  }

  Result result_of(const ResolvedPoint& point, Measurement measurement,
                   const std::vector<std::size_t>& numbers) {
    std::vector<double> steps;
    for (const Seconds step : measurement.steps) steps.push_back(step.value());
    measurement.median = Seconds(stats::median(steps));
    measurement.mad = Seconds(stats::median_absolute_deviation(steps));
    // The step whose intervals are kept: the middle one, the lower where there are two.
    std::vector<std::size_t> order(steps.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return steps[i]; });
    const std::size_t middle = order[(order.size() - 1) / 2];

    Result result;
    result.id = point.id;
    result.fidelity = Fidelity::measured;
    std::vector<std::vector<training::Interval>> intervals;
    for (const auto& text : all(Verb::intervals, std::to_string(numbers[middle]))) {
      intervals.push_back(traces::intervals_from_text(text));
      if (intervals.back().size() != point.program.operations.size()) {
        throw std::runtime_error("a rank says the intervals of another program");
      }
    }
    intervals.resize(ranks_);  // without servers
    result.trace = {point.program, classes_of(std::move(intervals))};
    result.totals = totals_of(result.trace);
    result.totals.step = measurement.median;
    if (!follower_.computes_for_real()) {
      result.notes.emplace_back("compute: timed waits, an accelerator's stand-in");
    }
    const auto& engine = point.program.engine;
    if (engine && !engine->rule.waits_for_calls) {
      result.notes.emplace_back(
          "engine: waited for its calls, where the library that is predicted only launches them");
    }
    result.measurement = std::move(measurement);
    return result;
  }

  Team& team_;
  Follower& follower_;
  const SessionOptions& options_;
  const SessionLines& lines_;
  // From saying that a step begins to its beginning. Doubled whenever a rank or a thread was late.
  Seconds margin_{0.02};
  std::size_t steps_run_ = 0;  // of the point
  std::size_t ranks_ = 0;      // of the point, without servers
};

}  // namespace

Backend require_backend(const std::string& name) {
  const auto all = backends();
  const auto row = std::ranges::find(all, name, &Backend::name);
  if (row == all.end()) {
    std::string known;
    for (const Backend& backend : all) {
      known += (known.empty() ? "" : ", ") + std::string(backend.name);
    }
    throw UsageError("no backend is called \"" + name + "\"; there are " + known);
  }
  if (!row->missing.empty()) throw BackendError(name, std::nullopt, "", row->missing);
  return *row;
}

void serve(Team& team, const SessionOptions& options, const SessionLines& lines) {
  Follower follower(team, options);
  if (team.rank() == Rank(0)) return Leader(team, follower, options, lines).lead();
  while (true) {
    const std::string said = team.broadcast("");
    const auto verb = static_cast<Verb>(said.at(0));
    (void)team.gather(follower.do_it(verb, said.substr(1)));
    if (verb == Verb::leave) return;
  }
}

}  // namespace paceline::real

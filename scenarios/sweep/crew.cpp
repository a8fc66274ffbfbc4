#include "scenarios/sweep/crew.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <deque>
#include <exception>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "models/contract.h"
#include "models/text/json_writer.h"
#include "scenarios/errors.h"
#include "scenarios/predict/evidence.h"
#include "scenarios/predict/point_source.h"
#include "scenarios/process/line_process.h"
#include "traces/json/json_value.h"

namespace paceline::sweep {
namespace {

std::string dumped(const std::vector<std::string>& texts) {
  std::string text;
  JsonWriter(text).value(texts);
  return text;
}

// Whole numbers without a fraction.
std::string dumped(const std::vector<AxisValue>& axes) {
  std::string text;
  JsonWriter json(text);
  json.object([&] {
    for (const AxisValue& axis : axes) {
      const auto* number = std::get_if<double>(&axis.value);
      const bool is_whole =
          number != nullptr && *number == std::floor(*number) && std::abs(*number) < 1e15;
      json.key(axis.path);
      is_whole ? json.value(static_cast<std::int64_t>(*number)) : json.value(axis.value);
    }
  });
  return text;
}

Cell cell_from(const traces::JsonValue& in) {
  if (in.is_null()) return {};
  if (const auto whole = in.if_whole()) return static_cast<std::int64_t>(*whole);
  if (const auto number = in.if_number()) return *number;
  return in.get<std::string>();
}

}  // namespace

Row row_of(const PointOutcome& outcome) {
  PACELINE_EXPECTS(!outcome.failure || outcome.failure->cause != FailureCause::stopped);
  Row row;
  row.axes = dumped(outcome.axes);
  // One that was not even prepared has its failure and nothing else.
  const bool is_prepared = outcome.samples_per_step > 0;
  for (const PointColumn& column : point_columns()) {
    const bool is_known = is_prepared || column.name == "failure";
    row.cells.push_back(is_known ? column.cell(outcome) : Cell());
  }
  if (outcome.failure) {
    row.cause = outcome.failure->cause == FailureCause::refused ? "refused" : "failed";
  }
  row.assumed = dumped(outcome.assumptions);
  return row;
}

constexpr auto fields_of(const Row*) {
  return Fields(field("axes", &Row::axes), field("cause", &Row::cause),
                field("assumed", &Row::assumed), field("cells", &Row::cells));
}

std::string to_text(const Row& row) {
  std::string text;
  JsonWriter(text).value(row);
  return text;
}

Row row_from(const std::string& text) {
  const traces::JsonValue in = traces::parse_json(text, "");
  Row row{in["axes"].text(), {}, in["cause"].text(), in["assumed"].text()};
  for (const traces::JsonValue& cell : in["cells"].list()) row.cells.push_back(cell_from(cell));
  if (row.cells.size() != point_columns().size())
    throw std::runtime_error("a row of other columns");
  return row;
}

std::string text_in(const Cell& cell) {
  const auto* text = std::get_if<std::string>(&cell);
  return text == nullptr ? "" : *text;
}

const char* type_of(const PointColumn& column) {
  switch (column.type) {
    case PointColumn::Type::truth:
    case PointColumn::Type::whole: return "INTEGER";
    case PointColumn::Type::real: return "REAL";
    case PointColumn::Type::text: return "TEXT";
  }
  PACELINE_UNREACHABLE("a type outside the enumeration");
}

std::size_t column_of(std::string_view name) {
  const auto columns = point_columns();
  const auto found = std::ranges::find(columns, name, &PointColumn::name);
  PACELINE_EXPECTS(found != columns.end());
  return static_cast<std::size_t>(found - columns.begin());
}

namespace {

class Threads : public Crew {
 public:
  Threads(Job job, std::size_t jobs) : job_(std::move(job)), jobs_(jobs) {
    try {
      for (std::size_t i = 0; i < jobs; ++i) workers_.emplace_back([this] { work(); });
    } catch (const std::exception&) {
      // The machine has no room for more threads: those there are do it.
      if (workers_.empty()) throw;
    }
  }

  // What is under way is done.
  ~Threads() override {
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
    }
    to_do_.notify_all();
    for (std::thread& worker : workers_) worker.join();
  }

  // Enough for none to wait while the next ones are looked up. Those of a group that one thread is
  // finding the form of are nothing for the others.
  std::size_t wanted() override {
    constexpr std::size_t ahead = 64, held_most = 100'000;
    const std::lock_guard lock(mutex_);
    std::size_t held = 0, free = 0;
    for (const Group& group : groups_) {
      held += group.tasks.size();
      if (group.state != Group::State::opening) free += group.tasks.size();
    }
    const std::size_t most = ahead * jobs_;
    return std::min(most - std::min(most, free), held_most - std::min(held_most, held));
  }

  void give(std::span<const Task> tasks) override {
    for (const Task& task : tasks) {
      const auto number = shared_by(task.file).forms->group_of(task.point);
      const std::lock_guard lock(mutex_);
      group_of(task.file, number).tasks.push_back(task);
    }
    const std::lock_guard lock(mutex_);
    is_short_ = false;
    to_do_.notify_all();
  }

  // Also when a thread runs out of tasks: the next ones are to be looked up.
  std::vector<Done> take(Seconds longest) override {
    std::unique_lock lock(mutex_);
    done_.wait_for(lock, std::chrono::duration<double>(longest.value()),
                   [&] { return !results_.empty() || trouble_ || is_short_; });
    is_short_ = false;
    if (results_.empty() && trouble_) std::rethrow_exception(trouble_);
    return std::exchange(results_, {});
  }

 private:
  // Tasks of one form, or of none; the first thread finds the form while others go elsewhere.
  struct Group {
    std::uint32_t file;
    std::optional<std::uint64_t> number;
    enum class State { unseen, opening, open } state;
    std::deque<Task> tasks;
  };

  // The one that is there, or a new one at the end.
  Group& group_of(std::uint32_t file, std::optional<std::uint64_t> number) {
    const auto found = std::ranges::find_if(
        groups_, [&](const Group& one) { return one.file == file && one.number == number; });
    if (found != groups_.end()) return *found;
    const auto state = number ? Group::State::unseen : Group::State::open;
    return groups_.emplace_back(Group{file, number, state, {}});
  }

  struct Next {
    Task task;
    std::list<Group>::iterator opened;  // by this task; or the end
  };

  std::optional<Next> next() {
    std::unique_lock lock(mutex_);
    while (!is_over_ && !trouble_) {
      const auto group = std::ranges::find_if(groups_, [](const Group& one) {
        return one.state != Group::State::opening && !one.tasks.empty();
      });
      if (group != groups_.end()) {
        Next found{group->tasks.front(), groups_.end()};
        group->tasks.pop_front();
        if (group->state == Group::State::unseen) {
          group->state = Group::State::opening;
          found.opened = group;
        } else if (group->tasks.empty()) {
          groups_.erase(group);
        }
        return found;
      }
      is_short_ = true;
      done_.notify_one();
      to_do_.wait(lock);
    }
    return std::nullopt;
  }

  void finish(const Next& done, Row row) {
    const std::lock_guard lock(mutex_);
    results_.push_back({done.task, std::move(row)});
    done_.notify_one();
    if (done.opened == groups_.end()) return;
    done.opened->state = Group::State::open;
    if (done.opened->tasks.empty()) groups_.erase(done.opened);
    to_do_.notify_all();
  }

  struct Shared {
    uncertain::Belief belief;
    std::shared_ptr<LinkForms> forms;
  };
  Shared shared_by(std::uint32_t file) {
    const std::lock_guard lock(shared_mutex_);
    const auto made = shared_.find(file);
    if (made != shared_.end()) return made->second;
    const SweptFile& swept = job_.files[file];
    RunOptions options;
    options.force = job_.force;
    const auto known = belief_of(swept.path, swept.settings, options);
    const uncertain::Belief& belief = known ? *known : unconditioned_belief();
    auto forms = std::make_shared<LinkForms>(swept.read(), job_.force, belief, swept.part);
    return shared_.emplace(file, Shared{belief, std::move(forms)}).first->second;
  }

  void work() {
    share_memory_among(jobs_);
    std::optional<PointSource> source;  // of the file whose turn it is
    std::uint32_t file = 0;
    try {
      while (const auto one = next()) {
        if (!source || one->task.file != file) {
          file = one->task.file;
          const Shared shared = shared_by(file);
          source.emplace(job_.files[file].read(), job_.force, shared.belief, shared.forms);
        }
        finish(*one, row_of(source->outcome(one->task.point)));
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!trouble_) trouble_ = std::current_exception();
      done_.notify_one();
      to_do_.notify_all();
    }
  }

  Job job_;
  std::size_t jobs_;
  std::mutex shared_mutex_;
  std::map<std::uint32_t, Shared> shared_;  // by file
  std::mutex mutex_;
  std::condition_variable to_do_, done_;
  std::list<Group> groups_;  // in the order of their tasks
  std::vector<Done> results_;
  std::exception_ptr trouble_;
  bool is_short_ = false;  // a thread waits for tasks, and nobody was told
  bool is_over_ = false;
  std::vector<std::thread> workers_;
};

}  // namespace

ScenarioFile SweptFile::read() const {
  ScenarioFile file = ScenarioFile::read(path, settings, ScenarioFile::points_max_one_by_one);
  if (file.sha256() != sha256) throw BackendError(path, "changed while it was swept");
  return file;
}

std::unique_ptr<Crew> make_threads(const Job& job, std::size_t jobs) {
  return std::make_unique<Threads>(
      job, jobs > 0 ? jobs : std::max<std::size_t>(1, std::thread::hardware_concurrency()));
}

CrewMaker& crew_maker() {
  static CrewMaker maker = make_threads;
  return maker;
}

}  // namespace paceline::sweep

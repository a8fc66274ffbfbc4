#include "scenarios/sweep/crew.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "scenarios/errors.h"
#include "scenarios/predict/point_source.h"
#include "scenarios/process/line_process.h"

namespace paceline::sweep {
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

  // Enough for none to wait while the next ones are looked up.
  std::size_t wanted() override {
    constexpr std::size_t ahead = 64;
    const std::lock_guard lock(mutex_);
    const std::size_t most = ahead * jobs_;
    return most - std::min(most, tasks_.size());
  }

  void give(std::span<const Task> tasks) override {
    const std::lock_guard lock(mutex_);
    tasks_.insert(tasks_.end(), tasks.begin(), tasks.end());
    to_do_.notify_all();
  }

  std::vector<Done> take(Seconds longest) override {
    std::unique_lock lock(mutex_);
    done_.wait_for(lock, std::chrono::duration<double>(longest.value()),
                   [&] { return !results_.empty() || trouble_; });
    if (results_.empty() && trouble_) std::rethrow_exception(trouble_);
    return std::exchange(results_, {});
  }

 private:
  std::optional<Task> next() {
    std::unique_lock lock(mutex_);
    to_do_.wait(lock, [&] { return is_over_ || trouble_ || !tasks_.empty(); });
    if (is_over_ || trouble_) return std::nullopt;
    const Task task = tasks_.front();
    tasks_.pop_front();
    return task;
  }

  // All threads' of a file.
  std::shared_ptr<ClosedForms> forms_of(std::uint32_t file) {
    const std::lock_guard lock(forms_mutex_);
    std::shared_ptr<ClosedForms>& forms = forms_[file];
    if (!forms) forms = std::make_shared<ClosedForms>(job_.files[file].read(), job_.force);
    return forms;
  }

  void work() {
    Simulator simulator(jobs_);
    std::optional<PointSource> source;  // of the file whose turn it is
    std::uint32_t file = 0;
    try {
      while (const auto task = next()) {
        if (!source || task->file != file) {
          file = task->file;
          source.emplace(job_.files[file].read(), job_.force, forms_of(file));
        }
        Row row = row_of(source->outcome(task->point, simulator));
        const std::lock_guard lock(mutex_);
        results_.push_back({*task, std::move(row)});
        done_.notify_one();
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
  const BrokenPipesIgnored ignored_;
  std::mutex forms_mutex_;
  std::map<std::uint32_t, std::shared_ptr<ClosedForms>> forms_;  // by file
  std::mutex mutex_;
  std::condition_variable to_do_, done_;
  std::deque<Task> tasks_;
  std::vector<Done> results_;
  std::exception_ptr trouble_;
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

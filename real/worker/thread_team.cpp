#include "real/worker/thread_team.h"

#include <condition_variable>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>

namespace paceline::real {
namespace {

// What the threads share: a table that all lay something on, and that is read when all have.
class Table {
 public:
  explicit Table(RankCount ranks) : said_(ranks.value()) {}

  std::vector<std::string> all_gather(Rank rank, std::string text) {
    std::unique_lock lock(mutex_);
    said_[rank.value()] = std::move(text);
    meet(lock);
    auto all = said_;
    meet(lock);  // no thread writes the next value before all have read this one
    return all;
  }

  void fail(std::exception_ptr trouble) {
    const std::lock_guard lock(mutex_);
    if (!trouble_) trouble_ = std::move(trouble);
    changed_.notify_all();
  }

  void rethrow() const {
    if (trouble_) std::rethrow_exception(trouble_);
  }

 private:
  void meet(std::unique_lock<std::mutex>& lock) {
    const std::uint64_t meeting = meetings_;
    if (++here_ == said_.size()) {
      here_ = 0;
      ++meetings_;
      changed_.notify_all();
    }
    changed_.wait(lock, [&] { return meetings_ != meeting || trouble_; });
    if (trouble_) throw std::runtime_error("another rank failed");
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> said_;  // by rank
  std::size_t here_ = 0;
  std::uint64_t meetings_ = 0;
  std::exception_ptr trouble_;
};

class ThreadTeam : public Team {
 public:
  ThreadTeam(Table& table, Rank rank, RankCount size) : table_(table), rank_(rank), size_(size) {}

  [[nodiscard]] Rank rank() const override { return rank_; }
  [[nodiscard]] RankCount size() const override { return size_; }
  [[nodiscard]] std::string broadcast(std::string text) override {
    return table_.all_gather(rank_, std::move(text)).front();
  }
  [[nodiscard]] std::vector<std::string> gather(std::string text) override {
    auto all = table_.all_gather(rank_, std::move(text));
    return rank_ == Rank(0) ? std::move(all) : std::vector<std::string>();
  }
  [[nodiscard]] Seconds clock_offset() const override { return Seconds(0); }
  [[nodiscard]] Seconds clock_error() const override { return Seconds(0); }
  [[nodiscard]] std::string address() const override { return ""; }

 private:
  Table& table_;
  Rank rank_;
  RankCount size_;
};

}  // namespace

void with_thread_team(RankCount ranks, const std::function<void(Team&)>& run) {
  Table table(ranks);
  {
    std::vector<std::jthread> threads;
    for (std::uint32_t r = 0; r < ranks.value(); ++r) {
      threads.emplace_back([&, r] {
        ThreadTeam team(table, Rank(r), ranks);
        try {
          run(team);
        } catch (...) {
          table.fail(std::current_exception());
        }
      });
    }
  }
  table.rethrow();
}

}  // namespace paceline::real

#pragma once

#include <algorithm>
#include <atomic>
#include <span>
#include <utility>
#include <vector>

#include "models/contract.h"

namespace paceline {

// The rows of a registry: those of the tree, which stand in its source, then those that a program
// adds when it starts, in the order in which it adds them.
//
// The first look-up ends the adding: from then on rows never move nor change, so that look-ups need
// no lock and find the same rows in every thread. add() itself is for one thread at a time.
template <class Row>
class RegisteredRows {
 public:
  explicit RegisteredRows(std::span<const Row> of_the_tree)
      : rows_(of_the_tree.begin(), of_the_tree.end()) {}

  // Preconditions: nothing was looked up yet; no row `is_like` this one, as look-ups compare.
  template <class IsLike>
  void add(Row row, IsLike is_like) {
    PACELINE_EXPECTS(!was_read_.load(std::memory_order_relaxed));
    PACELINE_EXPECTS(
        std::ranges::none_of(rows_, [&](const Row& other) { return is_like(other, row); }));
    rows_.push_back(std::move(row));
  }

  [[nodiscard]] std::span<const Row> all() const {
    // Written once: threads that look up all the time share the line that it is in.
    if (!was_read_.load(std::memory_order_relaxed)) {
      was_read_.store(true, std::memory_order_relaxed);
    }
    return rows_;
  }

 private:
  std::vector<Row> rows_;
  mutable std::atomic<bool> was_read_ = false;
};

}  // namespace paceline

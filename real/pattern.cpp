#include "real/pattern.h"

#include <Eigen/Core>
#include <vector>

#include "models/contract.h"
#include "models/stats/mixed.h"

namespace paceline::real {
namespace {

using collectives::AllToAllBlocks;
using collectives::Collective;
using collectives::Partition;

// No sum is above 256.
constexpr double not_a_result = 300;

// Of at most 32 ranks that contribute to an element, each at most 7.
std::uint64_t contribution(const Pattern& pattern, std::uint64_t element, std::uint64_t rank) {
  const std::uint64_t stride = (pattern.ranks.value() + 31) / 32;
  if ((element + rank) % stride != 0) return 0;
  return stats::mixed(pattern.seed + element * 0x10001 + rank) & 7;
}

double sum(const Pattern& pattern, std::uint64_t element) {
  std::uint64_t total = 0;
  for (std::uint32_t r = 0; r < pattern.ranks.value(); ++r) {
    total += contribution(pattern, element, r);
  }
  return static_cast<double>(total);
}

double one(const Pattern& pattern, std::uint64_t element, Rank rank) {
  return static_cast<double>(contribution(pattern, element, rank.value()));
}

bool is_server(const Pattern& pattern, Rank rank) { return rank.value() >= pattern.ranks.value(); }

// Calls `take(range, value_of)` for every range that a rank has a say in, before or after.
template <class Take>
void each_before(const Pattern& pattern, Rank rank, Take take) {
  const bool sends_sums = pattern.collective == Collective::broadcast && rank == pattern.root;
  if (is_server(pattern, rank) && !sends_sums) return;
  const ElementRange whole{ElementCount(0), pattern.count};
  const auto own = [&](std::uint64_t i) { return one(pattern, i, rank); };
  switch (pattern.collective) {
    case Collective::all_reduce:
    case Collective::reduce_scatter:
    case Collective::reduce: return take(whole, own);
    case Collective::broadcast:
    case Collective::scatter:
      if (rank == pattern.root) take(whole, own);
      return;
    case Collective::all_gather:
    case Collective::gather:
      return take(Partition::even(whole, pattern.ranks.value()).chunk(rank.value()), own);
    case Collective::all_to_all: return take(whole, own);
  }
}

template <class Take>
void each_after(const Pattern& pattern, Rank rank, Take take) {
  if (is_server(pattern, rank) && rank != pattern.root) return;
  const ElementRange whole{ElementCount(0), pattern.count};
  const Partition chunks = Partition::even(whole, pattern.ranks.value());
  const auto total = [&](std::uint64_t i) { return sum(pattern, i); };
  switch (pattern.collective) {
    case Collective::all_reduce: return take(whole, total);
    case Collective::reduce_scatter: return take(chunks.chunk(rank.value()), total);
    case Collective::reduce:
      if (rank == pattern.root) take(whole, total);
      return;
    case Collective::broadcast:
      return take(whole, [&](std::uint64_t i) { return one(pattern, i, pattern.root); });
    case Collective::scatter:
      return take(chunks.chunk(rank.value()),
                  [&](std::uint64_t i) { return one(pattern, i, pattern.root); });
    case Collective::gather:
      if (rank != pattern.root) return;
      [[fallthrough]];
    case Collective::all_gather:
      for (std::uint32_t r = 0; r < pattern.ranks.value(); ++r) {
        take(chunks.chunk(r), [&](std::uint64_t i) { return one(pattern, i, Rank(r)); });
      }
      return;
    case Collective::all_to_all: {
      const AllToAllBlocks blocks{pattern.ranks, pattern.count};
      for (std::uint32_t r = 0; r < pattern.ranks.value(); ++r) {
        if (Rank(r) == rank) continue;
        const std::uint64_t sent = blocks.sent(rank).begin.value();
        const std::uint64_t received = blocks.received(Rank(r)).begin.value();
        take(blocks.received(Rank(r)),
             [&](std::uint64_t i) { return one(pattern, sent + (i - received), Rank(r)); });
      }
    }
  }
}

template <class F>
auto with_type(DataType type, F f) {
  switch (type) {
    case DataType::float32: return f(float{});
    case DataType::float16: return f(Eigen::half{});
    case DataType::bfloat16: return f(Eigen::bfloat16{});
    case DataType::float64: return f(double{});
    case DataType::int32: return f(std::int32_t{});
    case DataType::int64: return f(std::int64_t{});
  }
  PACELINE_UNREACHABLE("a type outside the enumeration");
}

// Calls `take(element, is, should)` for every wrong element until it returns false.
template <class Take>
void each_wrong(const Pattern& pattern, Rank rank, const Buffer& buffer, Take take) {
  with_type(buffer.type(), [&](auto zero) {
    using Element = decltype(zero);
    std::vector<Element> elements(buffer_size(pattern).value());
    buffer.read({ElementCount(0), ElementCount(elements.size())},
                std::as_writable_bytes(std::span(elements)));
    bool goes_on = true;
    each_after(pattern, rank, [&](ElementRange range, const auto& value_of) {
      for (std::uint64_t i = 0; i < range.count.value() && goes_on; ++i) {
        const std::uint64_t element = range.begin.value() + i;
        const double is = static_cast<double>(elements[element]), should = value_of(element);
        if (is != should) goes_on = take(element, is, should);
      }
    });
  });
}

}  // namespace

ElementCount buffer_size(const Pattern& pattern) {
  return pattern.collective == Collective::all_to_all ? pattern.count * 2 : pattern.count;
}

void fill(const Pattern& pattern, Rank rank, Buffer& buffer) {
  with_type(buffer.type(), [&](auto zero) {
    using Element = decltype(zero);
    const auto elsewhere = static_cast<Element>(is_server(pattern, rank) ? 0.0 : not_a_result);
    std::vector<Element> elements(buffer_size(pattern).value(), elsewhere);
    each_before(pattern, rank, [&](ElementRange range, const auto& value_of) {
      for (std::uint64_t i = 0; i < range.count.value(); ++i) {
        const std::uint64_t element = range.begin.value() + i;
        elements[element] = static_cast<Element>(value_of(element));
      }
    });
    buffer.write({ElementCount(0), ElementCount(elements.size())},
                 std::as_bytes(std::span(elements)));
  });
}

void spoil(const Pattern& pattern, Buffer& buffer) {
  with_type(buffer.type(), [&](auto zero) {
    const std::vector<decltype(zero)> elements(buffer_size(pattern).value(),
                                               static_cast<decltype(zero)>(not_a_result));
    buffer.write({ElementCount(0), ElementCount(elements.size())},
                 std::as_bytes(std::span(elements)));
  });
}

std::optional<std::string> find_fault(const Pattern& pattern, Rank rank, const Buffer& buffer) {
  std::optional<std::string> fault;
  each_wrong(pattern, rank, buffer, [&](std::uint64_t element, double is, double should) {
    fault = "element " + std::to_string(element) + " of " + std::to_string(pattern.count.value()) +
            " is " + std::to_string(is) + " instead of " + std::to_string(should);
    return false;
  });
  return fault;
}

std::uint64_t wrong_elements(const Pattern& pattern, Rank rank, const Buffer& buffer) {
  std::uint64_t wrong = 0;
  each_wrong(pattern, rank, buffer, [&](std::uint64_t, double, double) {
    ++wrong;
    return true;
  });
  return wrong;
}

}  // namespace paceline::real

#include "tests/real/conformance/suite.h"

#include <algorithm>
#include <exception>
#include <thread>

#include "models/collectives/registry.h"
#include "real/pattern.h"
#include "real/plan_runner.h"
#include "real/worker/thread_team.h"

namespace paceline::test {
namespace {

using collectives::Algorithm;
using collectives::Collective;
using real::Communicator;
using real::Pattern;
using real::Stream;

// Calls run(0) and run(1) at the same time.
template <class Run>
void in_two_threads(Run run) {
  std::exception_ptr trouble[2];
  {
    std::vector<std::jthread> threads;
    for (std::uint32_t i = 0; i < 2; ++i) {
      threads.emplace_back([&, i] {
        try {
          run(i);
        } catch (...) {
          trouble[i] = std::current_exception();
        }
      });
    }
  }
  for (const auto& one : trouble) {
    if (one) std::rethrow_exception(one);
  }
}

class SuiteRun {
 public:
  SuiteRun(Communicator& communicator, const Suite& suite)
      : communicator_(communicator), suite_(suite), runner_(communicator) {}

  std::vector<std::string> faults() {
    for (const DataType type : suite_.types) {
      for (const ElementCount count : suite_.counts) {
        for (const Algorithm& row : collectives::algorithms()) {
          if (row.reduces != collectives::Reduces::endpoints) continue;
          try_plan(row, type, count, {});
          collectives::AlgorithmOptions two;
          two.channels = 2;
          if (row.name == "ring") try_plan(row, type, count, two);
        }
        for (const auto& [collective, word] : words_of(Collective{})) {
          try_native(collective, type, count);
          try_native_from(collective, type, count);
        }
      }
    }
    if (suite_.large > ElementCount(0)) {
      try_plan(*collectives::find_algorithm(Collective::all_reduce, "ring"), DataType::float32,
               suite_.large, {});
      try_native(Collective::all_reduce, DataType::float32, suite_.large);
    }
    for (const std::uint32_t servers : {1U, 2U}) try_servers(servers);
    try_new_buffer();
    try_two_at_a_time();
    try_two_natives_at_a_time();
    return std::move(faults_);
  }

 private:
  Pattern next_pattern(Collective collective, ElementCount count) {
    const Rank root(static_cast<std::uint32_t>(seed_ % communicator_.size().value()));
    const bool is_rooted = collectives::has_root(collective);
    return {collective, communicator_.size(), count, is_rooted ? root : Rank(0), seed_++};
  }

  collectives::Plan plan_of(const Algorithm& row, const Pattern& pattern, DataType type,
                            const collectives::AlgorithmOptions& options) const {
    const std::uint32_t ranks = pattern.ranks.value();
    const std::uint32_t per_node = ranks % 4 == 0 ? 4 : ranks % 2 == 0 ? 2 : 1;
    return row.build(
        {pattern.ranks, pattern.count, element_size(type), pattern.root, {}, per_node, options});
  }

  void judge(const std::string& what, const Pattern& pattern, const real::Buffer& buffer) {
    if (const auto fault = find_fault(pattern, communicator_.rank(), buffer)) {
      faults_.push_back(what + ", " + std::to_string(communicator_.size().value()) + " ranks, " +
                        std::string(to_text(buffer.type())) + ": rank " +
                        std::to_string(communicator_.rank().value()) + ": " + *fault);
    }
  }

  // Streams are used again and again, as a step of many calls does.
  Stream next_stream() { return static_cast<Stream>(seed_ % 1024 * 256); }

  void try_plan(const Algorithm& row, DataType type, ElementCount count,
                const collectives::AlgorithmOptions& options) {
    const Pattern pattern = next_pattern(row.collective, count);
    const auto plan = plan_of(row, pattern, type, options);
    const auto buffer = communicator_.allocate(type, real::buffer_size(pattern));
    fill(pattern, communicator_.rank(), *buffer);
    runner_.run(plan, *buffer, next_stream());
    judge(std::string(to_text(row.collective)) + " " + std::string(row.name), pattern, *buffer);
  }

  // The last of the ranks serve, where some are left to work.
  void try_servers(std::uint32_t servers) {
    const std::uint32_t endpoints = communicator_.size().value();
    if (communicator_.in_order() || servers >= endpoints) return;
    const RankCount ranks(endpoints - servers);
    for (const ElementCount count : suite_.counts) {
      const Pattern whole{Collective::all_reduce, ranks, count, Rank(0), seed_++};
      collectives::AlgorithmOptions options;
      options.servers = servers;
      options.separate_servers = true;
      // Of one rank it has no servers.
      if (servers <= ranks.value() && ranks > RankCount(1)) {
        try_with_servers("parameter_server", whole, options);
      }
      for (std::uint32_t k = 0; k < servers; ++k) {
        const Rank root(ranks.value() + k);
        try_with_servers("direct", {Collective::reduce, ranks, count, root, seed_++}, {});
        try_with_servers("direct", {Collective::broadcast, ranks, count, root, seed_++}, {});
      }
    }
  }

  void try_with_servers(const char* name, const Pattern& pattern,
                        const collectives::AlgorithmOptions& options) {
    const Algorithm& row = *collectives::find_algorithm(pattern.collective, name);
    const auto plan = plan_of(row, pattern, DataType::float32, options);
    const auto buffer = filled(pattern);
    const Stream stream = next_stream();
    if (communicator_.rank().value() < plan.endpoints().value()) {
      runner_.run(plan, *buffer, stream);
    }
    judge("with servers: " + std::string(to_text(pattern.collective)) + " " + name, pattern,
          *buffer);
  }

  void try_native(Collective collective, DataType type, ElementCount count) {
    if (!communicator_.has_native(collective)) return;
    const Pattern pattern = next_pattern(collective, count);
    const auto buffer = communicator_.allocate(type, real::buffer_size(pattern));
    fill(pattern, communicator_.rank(), *buffer);
    communicator_.native({collective, buffer.get(), count, pattern.root, next_stream()})->wait();
    judge("native " + std::string(to_text(collective)), pattern, *buffer);
  }

  // Out of place, on as many elements as all ranks have equal chunks of.
  void try_native_from(Collective collective, DataType type, ElementCount count) {
    if (!communicator_.has_native_from(collective)) return;
    const Pattern pattern = next_pattern(collective, count * communicator_.size().value());
    const auto input = communicator_.allocate(type, pattern.count);
    const auto buffer = communicator_.allocate(type, pattern.count);
    fill(pattern, communicator_.rank(), *input);
    const auto before = bytes_of(*input);
    real::spoil(pattern, *buffer);
    communicator_
        .native({collective, buffer.get(), pattern.count, pattern.root, next_stream(), input.get()})
        ->wait();
    const std::string what = "native " + std::string(to_text(collective)) + " out of place";
    judge(what, pattern, *buffer);
    if (bytes_of(*input) != before) faults_.push_back(what + ": the input was changed");
  }

  static std::vector<std::byte> bytes_of(const real::Buffer& buffer) {
    std::vector<std::byte> bytes((buffer.count() * element_size(buffer.type())).value());
    buffer.read({ElementCount(0), buffer.count()}, bytes);
    return bytes;
  }

  void try_new_buffer() {
    const ElementCount count(1001);
    const auto buffer = communicator_.allocate(DataType::float32, count);
    std::vector<std::byte> read(count.value() * sizeof(float), std::byte{1});
    buffer->read({ElementCount(0), count}, read);
    if (std::ranges::any_of(read, [](std::byte one) { return one != std::byte{0}; })) {
      faults_.emplace_back("a new buffer is not zero");
    }
  }

  // As two buckets are in flight with PyTorch's Gloo group.
  void try_two_at_a_time() {
    const Algorithm& row = *collectives::find_algorithm(Collective::all_reduce, "segmented_ring");
    const Pattern patterns[] = {next_pattern(row.collective, ElementCount(100'003)),
                                next_pattern(row.collective, ElementCount(50'001))};
    std::unique_ptr<real::Buffer> buffers[2];
    const Stream first = next_stream();
    for (std::size_t i = 0; i < 2; ++i) buffers[i] = filled(patterns[i]);
    in_two_threads([&](std::uint32_t i) {
      runner_.run(plan_of(row, patterns[i], DataType::float32, {}), *buffers[i], first + i * 256);
    });
    for (std::size_t i = 0; i < 2; ++i) judge("two at a time", patterns[i], *buffers[i]);
  }

  void try_two_natives_at_a_time() {
    if (!communicator_.has_native(Collective::all_reduce)) return;
    const Pattern patterns[] = {next_pattern(Collective::all_reduce, ElementCount(300'007)),
                                next_pattern(Collective::all_reduce, ElementCount(40'009))};
    std::unique_ptr<real::Buffer> buffers[2];
    real::EventPtr events[2];
    const Stream first = next_stream();
    for (std::uint32_t i = 0; i < 2; ++i) {
      buffers[i] = filled(patterns[i]);
      events[i] = communicator_.native(
          {Collective::all_reduce, buffers[i].get(), patterns[i].count, Rank(0), first + i});
    }
    in_two_threads([&](std::uint32_t i) { events[i]->wait(); });
    for (std::size_t i = 0; i < 2; ++i) judge("two natives at a time", patterns[i], *buffers[i]);
  }

  std::unique_ptr<real::Buffer> filled(const Pattern& pattern) {
    auto buffer = communicator_.allocate(DataType::float32, pattern.count);
    fill(pattern, communicator_.rank(), *buffer);
    return buffer;
  }

  Communicator& communicator_;
  const Suite& suite_;
  real::PlanRunner runner_;
  std::uint64_t seed_ = 0;  // of the next case
  std::vector<std::string> faults_;
};

}  // namespace

std::vector<DataType> all_data_types() {
  std::vector<DataType> all;
  for (const auto& [type, word] : words_of(DataType{})) all.push_back(type);
  return all;
}

std::vector<std::string> conformance_faults(Communicator& communicator, const Suite& suite) {
  return SuiteRun(communicator, suite).faults();
}

std::vector<std::string> with_threads(
    RankCount ranks, const std::function<std::vector<std::string>(Rank, real::Meeting&)>& run) {
  std::vector<std::vector<std::string>> said(ranks.value());
  try {
    real::with_thread_team(ranks, [&](real::Team& team) {
      auto& mine = said[team.rank().value()];
      try {
        mine = run(team.rank(), team);
      } catch (const std::exception& error) {
        mine.emplace_back(error.what());
        throw;  // so that no rank waits for this one
      }
    });
  } catch (const std::exception&) {
    // Said already.
  }
  std::vector<std::string> all;
  for (auto& one : said) all.insert(all.end(), one.begin(), one.end());
  return all;
}

std::vector<std::string> conformance_faults_in_threads(
    std::unique_ptr<Communicator> (*connect)(const real::ConnectRequest&), RankCount ranks,
    const Suite& suite) {
  return with_threads(ranks, [&](Rank rank, real::Meeting& meeting) {
    real::ConnectRequest request;
    request.rank = rank;
    request.size = ranks;
    request.local_rank = rank.value();
    request.timeout = Seconds(60);
    request.address = "127.0.0.1";
    request.meeting = &meeting;
    const auto communicator = connect(request);
    auto faults = conformance_faults(*communicator, suite);
    (void)meeting.all_gather("");  // none leaves while others still need it
    return faults;
  });
}

}  // namespace paceline::test

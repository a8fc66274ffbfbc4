#pragma once

#include <nccl.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace paceline::stand_in {

inline constexpr std::uint32_t ranks_max = 16;

// From one rank to another: bytes in order, up to a full ring of them ahead.
struct Pipe {
  static constexpr std::size_t capacity = 32 * 1024;

  std::atomic<std::uint64_t> written;
  std::atomic<std::uint64_t> read;
  std::array<std::byte, capacity> bytes;

  // How many of them went or came.
  std::size_t put(const std::byte* from, std::size_t count);
  std::size_t take(std::byte* to, std::size_t count);
};

// What the ranks of a communicator share, in memory that ends with the last process that has it: a
// file without a name, found by its maker's process and number.
struct Region {
  std::uint64_t nonce;
  std::atomic<std::uint32_t> attached;
  std::array<std::array<char, 128>, ranks_max> places;  // which device each rank is on
  std::array<std::array<std::atomic<bool>, ranks_max>, ranks_max> connected;  // by one to another
  std::array<std::array<Pipe, ranks_max>, ranks_max> pipes;

  // False where the system refuses.
  [[nodiscard]] static bool make(ncclUniqueId& id);
  // Null where the maker is gone.
  [[nodiscard]] static Region* open(const ncclUniqueId& id);
  static void close(Region* region);
};

// What a kernel of NCCL's does for one rank.
struct Transfer {
  bool sends;
  int peer;
  std::byte* memory;
  std::size_t bytes;
};

// Moves all of them, those to or from one peer in their order. Each message begins with its length:
// returns what is wrong when the two sides differ, or when `stopped` says so; empty otherwise.
[[nodiscard]] std::string exchange(Region& region, int rank, const std::vector<Transfer>& transfers,
                                   const std::function<bool()>& stopped);

}  // namespace paceline::stand_in

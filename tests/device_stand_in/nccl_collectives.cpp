#include "tests/device_stand_in/nccl_collectives.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <cstring>

#include "tests/device_stand_in/settings.h"

namespace paceline::stand_in {
namespace {

using Bytes = std::vector<std::byte>;
using Kind = StandInCall::Kind;

template <class Element, class Sum>
void add_as(Bytes& to, const Bytes& from, Sum sum) {
  for (std::size_t at = 0; at < to.size(); at += sizeof(Element)) {
    Element a{};
    Element b{};
    std::memcpy(&a, &to[at], sizeof a);
    std::memcpy(&b, &from[at], sizeof b);
    a = sum(a, b);
    std::memcpy(&to[at], &a, sizeof a);
  }
}

template <class Integer>
Integer wrapped(Integer a, Integer b) {
  using Unsigned = std::make_unsigned_t<Integer>;
  return static_cast<Integer>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b));
}

void add(ncclDataType_t type, Bytes& to, const Bytes& from) {
  switch (type) {
    case ncclFloat32: return add_as<float>(to, from, [](float a, float b) { return a + b; });
    case ncclFloat64: return add_as<double>(to, from, [](double a, double b) { return a + b; });
    case ncclFloat16:
      return add_as<__half>(to, from, [](__half a, __half b) {
        return __float2half_rn(__half2float(a) + __half2float(b));
      });
    case ncclBfloat16:
      return add_as<__nv_bfloat16>(to, from, [](__nv_bfloat16 a, __nv_bfloat16 b) {
        return __float2bfloat16_rn(__bfloat162float(a) + __bfloat162float(b));
      });
    case ncclInt32: return add_as<std::int32_t>(to, from, wrapped<std::int32_t>);
    case ncclInt64: return add_as<std::int64_t>(to, from, wrapped<std::int64_t>);
    default: misused("a type that the stand-in does not add");
  }
}

// A collective as one rank's kernel does it.
class Collective {
 public:
  Collective(Region& region, int rank, int ranks, const std::function<bool()>& stopped)
      : region_(region), rank_(rank), ranks_(ranks), stopped_(stopped) {}

  std::string run(const StandInCall& call) {
    const std::size_t bytes = call.count * size_of(call.type);
    switch (call.kind) {
      case Kind::all_reduce: {
        std::string wrong = reduce_to(0, call.from, call.to, bytes, call.type);
        return wrong.empty() ? broadcast_from(0, call.to, call.to, bytes) : wrong;
      }
      case Kind::reduce: return reduce_to(call.peer, call.from, call.to, bytes, call.type);
      case Kind::broadcast: return broadcast_from(call.peer, call.from, call.to, bytes);
      case Kind::all_gather:
        return one_for_each([&](int root) {
          return broadcast_from(root, call.from, call.to + bytes * static_cast<std::size_t>(root),
                                bytes);
        });
      case Kind::reduce_scatter:
        // In place: what one call writes is no other's input.
        return one_for_each([&](int root) {
          return reduce_to(root, call.from + bytes * static_cast<std::size_t>(root), call.to, bytes,
                           call.type);
        });
      case Kind::send:
      case Kind::receive: break;
    }
    misused("a message is no collective");
  }

 private:
  template <class OfRank>
  std::string one_for_each(OfRank of_rank) {
    for (int r = 0; r < ranks_; ++r) {
      if (std::string wrong = of_rank(r); !wrong.empty()) return wrong;
    }
    return "";
  }

  std::string move(const std::vector<Transfer>& transfers) {
    return exchange(region_, rank_, transfers, stopped_);
  }

  std::string reduce_to(int root, const std::byte* from, std::byte* to, std::size_t bytes,
                        ncclDataType_t type) {
    Bytes mine(from, from + bytes);
    if (rank_ != root) return move({{true, root, mine.data(), bytes}});
    Bytes sum;
    for (int r = 0; r < ranks_; ++r) {
      Bytes next = mine;
      if (r != root) {
        if (std::string wrong = move({{false, r, next.data(), bytes}}); !wrong.empty())
          return wrong;
      }
      if (r == 0) {
        sum = next;
      } else {
        add(type, sum, next);
      }
    }
    // A bit of the first element's highest byte, whatever its type.
    if (is_at_fault("nccl-sum")) sum.at(size_of(type) - 1) ^= std::byte{4};
    std::memcpy(to, sum.data(), bytes);
    return "";
  }

  std::string broadcast_from(int root, const std::byte* from, std::byte* to, std::size_t bytes) {
    if (rank_ != root) return move({{false, root, to, bytes}});
    Bytes mine(from, from + bytes);
    std::vector<Transfer> transfers;
    for (int r = 0; r < ranks_; ++r) {
      if (r != root) transfers.push_back({true, r, mine.data(), bytes});
    }
    if (std::string wrong = move(transfers); !wrong.empty()) return wrong;
    std::memcpy(to, mine.data(), bytes);
    return "";
  }

  Region& region_;
  int rank_, ranks_;
  const std::function<bool()>& stopped_;
};

}  // namespace

std::size_t size_of(ncclDataType_t type) {
  switch (type) {
    case ncclFloat16:
    case ncclBfloat16: return 2;
    case ncclFloat32:
    case ncclInt32: return 4;
    case ncclFloat64:
    case ncclInt64: return 8;
    default: misused("a type that the stand-in does not know");
  }
}

std::string run_on_region(Region& region, int rank, int ranks,
                          const std::vector<StandInCall>& calls,
                          const std::function<bool()>& stopped) {
  std::vector<Transfer> transfers;
  for (const StandInCall& call : calls) {
    const std::size_t bytes = call.count * size_of(call.type);
    if (call.kind == Kind::send) {
      // The pipe only reads it.
      transfers.push_back({true, call.peer, const_cast<std::byte*>(call.from), bytes});
    } else if (call.kind == Kind::receive) {
      transfers.push_back({false, call.peer, call.to, bytes});
    }
  }
  std::string wrong = exchange(region, rank, transfers, stopped);
  Collective collective(region, rank, ranks, stopped);
  for (const StandInCall& call : calls) {
    if (!wrong.empty()) return wrong;
    if (call.kind != Kind::send && call.kind != Kind::receive) wrong = collective.run(call);
  }
  return wrong;
}

}  // namespace paceline::stand_in

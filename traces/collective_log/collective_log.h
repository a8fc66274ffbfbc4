#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "models/collectives/plan.h"
#include "models/units/units.h"

namespace paceline::traces {

// What rows say of their collective beside times: nccl-tests print an operation where one reduces,
// a root where there is one, and as busbw algbw times a factor of the collective and its ranks
// (nccl-tests, doc/PERFORMANCE.md).
struct Evidence {
  std::optional<bool> reduces;       // nullopt: no operation is printed
  std::optional<std::int64_t> root;  // -1: none; nullopt: not printed
  double bus_factor = 0;             // busbw / algbw; 0: not recorded
  double bus_factor_off = 0;         // at most, by the decimals of the two

  [[nodiscard]] bool says_something() const { return bus_factor > 0 || reduces || root; }
  // Adds another row's: the factor whose decimals tell most is kept.
  void take(const Evidence& row);
};

// What most rows of a table say, and whether one of them says no other factor.
[[nodiscard]] Evidence agreed(const std::vector<Evidence>& rows);
[[nodiscard]] bool agrees(const Evidence& row, const Evidence& table);

// Whether rows that say this may be of a collective on so many ranks; 0: not known.
[[nodiscard]] bool allows(const Evidence& evidence, collectives::Collective collective,
                          std::uint32_t ranks);

// Whether they may be of pairs that exchange (sendrecv_perf), whose factor is 1.
[[nodiscard]] bool allows_exchange(const Evidence& evidence);

// Of those that are allowed; none where the evidence says nothing of busbw.
[[nodiscard]] std::vector<collectives::Collective> may_be(const Evidence& evidence,
                                                          std::uint32_t ranks);

// "all_gather or all_to_all".
[[nodiscard]] std::string listed(const std::vector<collectives::Collective>& collectives);

// On how many ranks the collective has the factor; 0 where that is open, or there is none.
[[nodiscard]] std::uint32_t ranks_by_factor(const Evidence& evidence,
                                            collectives::Collective collective);

// "busbw is 0.875 of algbw, an all_reduce's on 8 GPUs 1.75". Precondition: not allowed.
[[nodiscard]] std::string why_not(const Evidence& evidence, collectives::Collective collective,
                                  std::uint32_t ranks);

// Collectives of one kind, measured size by size in one group.
struct CollectiveLog {
  struct Row {
    std::size_t line = 0;
    Bytes size;                  // of the whole buffer; 1 to 2^56
    std::vector<Seconds> times;  // one or more, each of 1 ps to 1e9 s: out of place, in place
  };
  struct Skipped {
    std::size_t line = 0;
    std::string why;
  };

  std::optional<collectives::Collective> collective;  // nullopt: not known
  std::uint32_t ranks = 0, nodes = 0;                 // 0: not recorded
  std::string release;                                // such as 2.8.4; may be empty
  std::set<std::string> devices;                      // as the log names them; may be empty
  std::vector<Row> rows;
  std::vector<Skipped> skipped;         // lines that look like a row and cannot be one
  std::vector<std::string> notes = {};  // sentences on what its times may hold
  Evidence evidence = {};               // what its rows say of the collective
  // Where `collective` is not known: two or more that the rows may be of, or none.
  std::vector<collectives::Collective> may_be = {};
  // What was measured where it is none of ours, such as sendrecv; else empty.
  std::string other = {};
  std::string known_by = {};  // how the collective is known, such as: its command; may be empty
  std::map<std::string, std::size_t> left_out = {};  // lines of others in and before it, by kind
};

// A comment before a table: "# GPUs: 8", "# nodes: 1" or "# collective: all_reduce".
struct Comment {
  std::optional<std::uint32_t> ranks, nodes;  // above 0
  std::optional<collectives::Collective> collective;

  friend bool operator==(const Comment&, const Comment&) = default;

  [[nodiscard]] bool says_something() const { return ranks || nodes || collective; }
};

[[nodiscard]] Comment comment_of(const std::vector<std::string_view>& words);

// More are a slip: no such group was ever measured.
inline constexpr std::uint32_t ranks_most = 1'000'000;

// Files that are one log together, such as one a rank.
class JoinedLog {
 public:
  JoinedLog() = default;
  JoinedLog(const JoinedLog&) = delete;
  JoinedLog& operator=(const JoinedLog&) = delete;
  virtual ~JoinedLog() = default;

  virtual void take(std::string_view text) = 0;  // throws FormatError
  // The tables of what was taken: once, at the end.
  [[nodiscard]] virtual std::vector<CollectiveLog> tables() = 0;
};

}  // namespace paceline::traces

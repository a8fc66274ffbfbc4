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
#include "traces/collective_log/evidence.h"

namespace paceline::traces {

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
  // Where `collective` is not known: those of which the rows may be, two or more; empty where they
  // say nothing.
  std::vector<collectives::Collective> may_be = {};
  // What was measured where it is none of ours, such as sendrecv; else empty.
  std::string other = {};
  std::string known_by = {};  // how the collective is known, such as: its command; may be empty
  std::map<std::string, std::size_t> left_out = {};  // lines of others in and before it, by kind
};

// What one of the comments says that may stand before any table: "# GPUs: 8", "# nodes: 1" or
// "# collective: all_reduce". Nothing of what it does not say.
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

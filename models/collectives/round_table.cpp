#include "models/collectives/round_table.h"

#include "models/contract.h"

namespace paceline::collectives {

RoundTable::RoundTable(const Round& round, RankCount endpoints) : repeats_(round.repeats) {
  const std::uint32_t count = endpoints.value();
  send_begin_.push_back(0);
  arrival_begin_.assign(count + 1, 0);
  for (std::uint32_t r = 0; r < count; ++r) {
    for (Send& send : round.sends(Rank(r))) {
      PACELINE_EXPECTS(index(send.to) < count);
      sends_.push_back(static_cast<std::uint32_t>(transfers_.size()));
      ++arrival_begin_[index(send.to) + 1];
      transfers_.push_back({Rank(r), send.to, std::move(send.chunk), send.arrival});
    }
    send_begin_.push_back(static_cast<std::uint32_t>(sends_.size()));
  }
  for (std::uint32_t r = 0; r < count; ++r) arrival_begin_[r + 1] += arrival_begin_[r];
  arrivals_.resize(transfers_.size());
  std::vector<std::uint32_t> next(arrival_begin_.begin(), arrival_begin_.end() - 1);
  for (std::uint32_t i = 0; i < transfers_.size(); ++i) {
    arrivals_[next[index(transfers_[i].to)]++] = i;
  }
}

}  // namespace paceline::collectives

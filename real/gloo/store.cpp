#include "real/gloo/store.h"

#include "models/contract.h"

namespace paceline::real {

void MeetingStore::set(const std::string& key, const std::vector<char>& data) {
  const std::string mine = key + ' ' + std::string(data.begin(), data.end());
  for (const std::string& pair : meeting_.all_gather(mine)) {
    const auto end = pair.find(' ');
    PACELINE_EXPECTS(end != std::string::npos);
    values_[pair.substr(0, end)].assign(pair.begin() + static_cast<std::ptrdiff_t>(end) + 1,
                                        pair.end());
  }
}

std::vector<char> MeetingStore::get(const std::string& key) { return values_.at(key); }

}  // namespace paceline::real

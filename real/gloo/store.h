#pragma once

#include <gloo/rendezvous/store.h>

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "real/backend.h"

namespace paceline::real {

// Gloo's key-value store over a meeting: to set a key is a round of it. So all ranks set keys of
// their own, alike often, before they get those of others. Connecting a full mesh does so with
// host names (keys "rank_0", "rank_1"..., for which it finds the ranks of its own host) and then
// with addresses (keys "0", "1"...): gloo/rendezvous/context.cc.
class MeetingStore : public gloo::rendezvous::Store {
 public:
  explicit MeetingStore(Meeting& meeting) : meeting_(meeting) {}

  void set(const std::string& key, const std::vector<char>& data) override;
  std::vector<char> get(const std::string& key) override;
  // When set() returns, all have set theirs.
  void wait(const std::vector<std::string>& /*keys*/) override {}
  void wait(const std::vector<std::string>& /*keys*/,
            const std::chrono::milliseconds& /*timeout*/) override {}

 private:
  Meeting& meeting_;
  std::map<std::string, std::vector<char>> values_;
};

}  // namespace paceline::real

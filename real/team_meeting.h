#pragma once

#include <string>
#include <vector>

#include "real/backend.h"
#include "real/team.h"

namespace paceline::real {

// The meeting of a team, which outlives it.
class TeamMeeting : public Meeting {
 public:
  explicit TeamMeeting(Team& team) : team_(team) {}

  [[nodiscard]] std::vector<std::string> all_gather(std::string text) override;

 private:
  Team& team_;
};

}  // namespace paceline::real

#pragma once

#include <utility>

#include "real/clock.h"
#include "real/launch/control.h"
#include "real/team.h"

namespace paceline::real {

// Ranks that are processes, over the control plane; which outlives it.
class ControlTeam : public Team {
 public:
  explicit ControlTeam(Control& control) : control_(control) {}

  [[nodiscard]] Rank rank() const override { return control_.rank(); }
  [[nodiscard]] RankCount size() const override { return control_.size(); }
  [[nodiscard]] std::string broadcast(std::string text) override {
    return control_.broadcast(std::move(text));
  }
  [[nodiscard]] std::vector<std::string> gather(std::string text) override {
    return control_.gather(std::move(text));
  }
  [[nodiscard]] Seconds clock_offset() const override { return control_.now() - steady_now(); }
  [[nodiscard]] Seconds clock_error() const override { return control_.clock_error(); }
  [[nodiscard]] std::string address() const override { return control_.connection_address(); }

 private:
  Control& control_;
};

}  // namespace paceline::real

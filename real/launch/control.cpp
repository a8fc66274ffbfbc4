#include "real/launch/control.h"

#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <utility>

#include "models/contract.h"
#include "real/errors.h"
#include "real/launch/control_loop.h"
#include "real/launch/join.h"

namespace paceline::real {
namespace {

std::shared_ptr<const std::string> shared(std::string text) {
  return std::make_shared<const std::string>(std::move(text));
}

// Texts in one: the length of each in decimal, a blank, the text.
std::string packed(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all.append(fmt::format("{} ", text.size())).append(text);
  return all;
}

// nullopt where it is no such text.
std::optional<std::vector<std::string>> unpacked(std::string_view all) {
  std::vector<std::string> texts;
  while (!all.empty()) {
    std::size_t length = 0;
    const char* const end = all.data() + all.size();
    const auto parsed = std::from_chars(all.data(), end, length);
    if (parsed.ec != std::errc() || parsed.ptr == end || *parsed.ptr != ' ') return std::nullopt;
    all.remove_prefix(static_cast<std::size_t>(parsed.ptr - all.data()) + 1);
    if (length > all.size()) return std::nullopt;
    texts.emplace_back(all.substr(0, length));
    all.remove_prefix(length);
  }
  return texts;
}

}  // namespace

std::unique_ptr<Control> Control::join(const RankIdentity& identity, const Rendezvous& rendezvous,
                                       const ControlLimits& limits) {
  PACELINE_EXPECTS(identity.rank.value() < identity.world_size.value());
  PACELINE_EXPECTS(limits.connect > Seconds(0) && limits.silence > Seconds(0));
  Joined joined = join_group(identity, rendezvous, limits.connect);
  std::string address = joined.address;
  std::vector<std::string> hosts = joined.hosts;
  auto loop = std::make_unique<ControlLoop>(std::move(joined), identity.rank, limits.silence);
  loop->wait_for_clock(limits.connect);
  return std::unique_ptr<Control>(
      new Control(identity, std::move(address), std::move(hosts), std::move(loop)));
}

Control::Control(const RankIdentity& identity, std::string address, std::vector<std::string> hosts,
                 std::unique_ptr<ControlLoop> loop)
    : rank_(identity.rank),
      size_(identity.world_size),
      address_(std::move(address)),
      hosts_(std::move(hosts)),
      loop_(std::move(loop)) {}

Control::~Control() = default;

std::string Control::broadcast(std::string text) {
  const std::uint32_t turn = ++turn_;
  if (rank_ != Rank(0)) return loop_->receive(0, FrameKind::broadcast, turn);
  const auto body = shared(std::move(text));
  loop_->send_all(FrameKind::broadcast, turn, body);
  return *body;
}

std::vector<std::string> Control::gather(std::string text) {
  const std::uint32_t turn = ++turn_;
  if (rank_ != Rank(0)) {
    loop_->send_all(FrameKind::gather, turn, shared(std::move(text)));
    return {};
  }
  std::vector<std::string> texts;
  texts.push_back(std::move(text));
  for (std::size_t peer = 0; peer + 1 < size_.value(); ++peer) {
    texts.push_back(loop_->receive(peer, FrameKind::gather, turn));
  }
  return texts;
}

std::vector<std::string> Control::all_gather(std::string text) {
  auto texts = gather(std::move(text));
  if (rank_ == Rank(0)) {
    (void)broadcast(packed(texts));
    return texts;
  }
  auto heard = unpacked(broadcast({}));
  if (!heard || heard->size() != size_.value()) {
    loop_->end_with("rank 0 passed on no texts of all ranks");
  }
  return std::move(*heard);
}

void Control::barrier() {
  gather({});
  (void)broadcast({});
}

Seconds Control::now() const {
  const std::chrono::duration<double> here = Clock::now().time_since_epoch();
  return Seconds(here.count()) + loop_->clock_offset();
}

Seconds Control::clock_error() const { return loop_->clock_error(); }

Seconds Control::agree_start(Seconds in) {
  // In hexadecimal a double travels as it is.
  const std::string text = broadcast(fmt::format("{:a}", (now() + in).value()));
  const Seconds start(std::strtod(text.c_str(), nullptr));
  if (!std::isfinite(start.value())) loop_->end_with("rank 0 named no time to start at");
  return start;
}

void Control::on_failure(FailureHandler handler) {
  if (!handler) handler = end_process;
  loop_->on_failure(std::move(handler));
}

void Control::end_process(const std::string& line) {
  std::fputs(("paceline-worker: " + line + "\n").c_str(), stderr);
  std::fflush(stderr);
  // Not exit(): other threads are at work, and may never return from a library's call.
  std::_Exit(3);
}

void Control::report_failure(const std::string& line) { loop_->report(line); }

void Control::leave() { loop_->leave(); }

}  // namespace paceline::real

#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "models/units/units.h"
#include "real/launch/rank_identity.h"
#include "real/launch/rendezvous.h"

namespace paceline::real {

class ControlLoop;

struct ControlLimits {
  Seconds connect;  // for all ranks to come
  Seconds silence;  // a rank that says nothing for so long is lost
};

// The control plane: messages between ranks apart from the traffic that is measured. A star of
// TCP connections with rank 0 in the middle, served by a thread of its own.
//
// Calls are collective: every rank makes the same ones in the same order, from one thread. A call
// costs one trip to rank 0, one from it, or both. Once a rank is lost or has reported a failure,
// the calls throw BackendError with the line that the failure handler got, after the handler.
class Control {
 public:
  using FailureHandler = std::function<void(const std::string& line)>;

  // Returns when all ranks have come. Otherwise, within twice the limit and a second, throws
  // BackendError, or UsageError where ranks were told different things or have no secret in common;
  // with the same line at all ranks that found rank 0. Takes over the rendezvous' listener.
  [[nodiscard]] static std::unique_ptr<Control> join(const RankIdentity& identity,
                                                     const Rendezvous& rendezvous,
                                                     const ControlLimits& limits);

  Control(const Control&) = delete;
  Control& operator=(const Control&) = delete;
  // Without leave() before, the others lose this rank.
  ~Control();

  [[nodiscard]] Rank rank() const { return rank_; }
  [[nodiscard]] RankCount size() const { return size_; }

  // The text of rank 0, at all ranks; those of others are not looked at. One trip.
  [[nodiscard]] std::string broadcast(std::string text);
  // The texts of all ranks in their order, at rank 0; nothing elsewhere, where it does not wait.
  std::vector<std::string> gather(std::string text);
  // The texts of all ranks in their order. Two trips, as the next two.
  [[nodiscard]] std::vector<std::string> all_gather(std::string text);
  void barrier();

  // Rank 0's steady clock. Ranks that share a kernel share it exactly. Others know it from the
  // quickest of 16 round trips at join, off by clock_error() at most then; drift is not followed.
  [[nodiscard]] Seconds now() const;
  [[nodiscard]] Seconds clock_error() const;
  // A time that far from now at rank 0; the same on all ranks, bit by bit.
  [[nodiscard]] Seconds agree_start(Seconds in);

  // Sets what is called, once, from the control's thread, when a rank is lost or another rank
  // reports a failure; at once when that was before. It must return or end the process. An empty
  // function stands for end_process.
  void on_failure(FailureHandler handler);
  // Prints `paceline-worker: LINE` on stderr and ends the process with status 3.
  [[noreturn]] static void end_process(const std::string& line);
  // Reports to every other rank, whose handler gets `rank 3: LINE`; waits a second at most until it
  // is sent. Of several failures the first that rank 0 hears of counts.
  void report_failure(const std::string& line);

  // The orderly end: waits until all ranks leave.
  void leave();

  // The address of this machine over which this rank reaches rank 0, and rank 0 is reached.
  [[nodiscard]] const std::string& connection_address() const { return address_; }
  // The host name of each rank.
  [[nodiscard]] const std::vector<std::string>& hosts() const { return hosts_; }

 private:
  Control(const RankIdentity& identity, std::string address, std::vector<std::string> hosts,
          std::unique_ptr<ControlLoop> loop);

  Rank rank_;
  RankCount size_;
  std::string address_;
  std::vector<std::string> hosts_;
  std::uint32_t turn_ = 0;
  std::unique_ptr<ControlLoop> loop_;
};

}  // namespace paceline::real

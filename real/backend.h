#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "models/collectives/plan.h"
#include "models/contract.h"
#include "models/units/data_type.h"
#include "real/clock.h"

// The seam between Paceline and a communication library. Functions with preconditions check them,
// private virtual ones do the work; tests/real/conformance tests every backend.
namespace paceline::real {

using collectives::Arrival, collectives::ElementRange;

// What is used by its address, through its base.
class Fixed {
 public:
  Fixed() = default;
  Fixed(const Fixed&) = delete;
  Fixed& operator=(const Fixed&) = delete;
  virtual ~Fixed() = default;
};

// float16 for 2 bytes, float32 for 4, float64 for 8. Throws UsageError for any other.
[[nodiscard]] DataType gradient_type(ElementSize size);

// Elements in memory of the host or a device, to send from and receive into; zero when made.
class Buffer : public Fixed {
 public:
  Buffer(DataType type, ElementCount count) : type_(type), count_(count) {}

  [[nodiscard]] DataType type() const { return type_; }
  [[nodiscard]] ElementCount count() const { return count_; }

  // Copies elements of the host's memory in or out, when nothing is in flight on them.
  // Precondition: the range is inside and as long as the span's bytes.
  void write(ElementRange range, std::span<const std::byte> host);
  void read(ElementRange range, std::span<std::byte> host) const;

 private:
  virtual void do_write(std::size_t first_byte, std::span<const std::byte> host) = 0;
  virtual void do_read(std::size_t first_byte, std::span<std::byte> host) const = 0;

  DataType type_;
  ElementCount count_;
};

// A buffer as its backend's own kind. Precondition: it came from such a communicator's allocate().
template <class Own, class Any>
[[nodiscard]] auto& own_buffer(Any& buffer) {
  auto* own = dynamic_cast<std::conditional_t<std::is_const_v<Any>, const Own, Own>*>(&buffer);
  PACELINE_EXPECTS(own != nullptr);
  return *own;
}

// Work in flight. Dropping an event does not stop it; until it is done, only after a failure.
class Event : public Fixed {
 public:
  // Returns when the work is done. Throws BackendError when it fails, or is not done within the
  // communicator's timeout. May be called again.
  void wait();

 private:
  virtual void do_wait() = 0;

  bool done_ = false;
};

using EventPtr = std::unique_ptr<Event>;

// One message of a round. Messages from one rank to another with the same stream are matched in the
// order in which each side posts them; both sides name the same number of elements.
struct Message {
  enum class Kind { send, receive };

  Kind kind;
  Rank peer;  // another rank
  Buffer* buffer;
  ElementRange range;  // at least one element; not touched by anything else until it is done
};

// Separates messages that are in flight at the same time: one for each channel of each call. The
// same on all ranks, below 2^20; may be reused when all its messages are done.
using Stream = std::uint32_t;

inline constexpr Stream streams_max = 1U << 20;

// A plan's call has its channels' data from a multiple of 256 on, ready notifications 128 later.
inline constexpr Stream streams_a_call = 256, channels_max = 128;

// A collective as the library does it. Buffers are laid out as a Plan's (collectives/plan.h): chunk
// r of Partition::even is rank r's, an all-to-all's buffer has two halves. Sums.
struct NativeCall {
  collectives::Collective collective;
  Buffer* buffer;
  ElementCount count;  // of the plan; the buffer may be longer
  Rank root;           // 0 where there is none
  Stream stream;
  // What ranks contribute, laid out as the buffer is, and left as it was; null: in place.
  const Buffer* input = nullptr;
};

// A clock of the device: how long native calls between start() and stop() take there.
class DeviceTimer : public Fixed {
 public:
  virtual void start() = 0;
  virtual void stop() = 0;
  // Once the calls in between are done.
  [[nodiscard]] virtual Seconds elapsed() const = 0;
};

// What one rank sees of its group. Its members may be called by several threads at a time, each
// with streams of its own; native calls begin in the same order on all ranks.
class Communicator : public Fixed {
 public:
  Communicator(Rank rank, RankCount size) : rank_(rank), size_(size) {}

  [[nodiscard]] Rank rank() const { return rank_; }
  [[nodiscard]] RankCount size() const { return size_; }

  [[nodiscard]] virtual std::unique_ptr<Buffer> allocate(DataType type, ElementCount count) = 0;

  // Starts all messages together and does not wait. One event per message; several may share work.
  [[nodiscard]] std::vector<EventPtr> post(std::span<const Message> messages, Stream stream);

  // Adds to, or copies over, `to`'s range the elements of `from` that begin at `begin`: on arrival,
  // when their message is done. Is done when it returns, unless the communicator is in order.
  void put(Arrival how, Buffer& to, ElementRange range, const Buffer& from, ElementCount begin,
           Stream stream);

  // Whether work posted on a stream happens in that order by itself (device streams): then only the
  // stream as a whole is waited for. Otherwise each event is, before its data is used.
  [[nodiscard]] virtual bool in_order() const = 0;
  // Returns when everything on the stream is done. Precondition: in order.
  void finish(Stream stream);

  // Longer messages are better sent in pieces: adding what has arrived overlaps with the rest.
  [[nodiscard]] virtual Bytes piece() const = 0;

  // Whether messages leave before their receive is posted, and take bandwidth from what the
  // receiver still receives. False when in order.
  [[nodiscard]] virtual bool sends_early() const { return false; }

  [[nodiscard]] virtual bool has_native(collectives::Collective /*collective*/) const {
    return false;
  }
  // Whether it also takes its input from another buffer, where all ranks' chunks are as long.
  // Never an all-to-all, whose buffer has both.
  [[nodiscard]] virtual bool has_native_from(collectives::Collective /*collective*/) const {
    return false;
  }
  // Begins the library's own collective. The work may be done by the thread that waits; where the
  // communicator is in order, native calls run one after the other. Preconditions: has_native; with
  // an input has_native_from, and equal chunks where ranks have some.
  [[nodiscard]] EventPtr native(const NativeCall& call);
  // Null where native calls run on no device. The communicator outlives it.
  [[nodiscard]] virtual std::unique_ptr<DeviceTimer> native_timer() { return nullptr; }

  // Work of that duration on the rank's processor. On hosts it is a timed wait, an accelerator's
  // stand-in, that ends `duration` after `start` (of steady_now(); may be past), when the work was
  // due: so late wake-ups of threads do not add up. Devices begin at once.
  [[nodiscard]] EventPtr compute(Seconds start, Seconds duration);

 private:
  virtual std::vector<EventPtr> do_post(std::span<const Message> messages, Stream stream) = 0;
  virtual void do_put(Arrival how, Buffer& to, ElementRange range, const Buffer& from,
                      ElementCount begin, Stream stream) = 0;
  virtual void do_finish(Stream stream) = 0;
  virtual EventPtr do_native(const NativeCall& call);
  virtual EventPtr do_compute(Seconds start, Seconds duration) = 0;

  Rank rank_;
  RankCount size_;
};

// How the ranks of a group exchange addresses before they can communicate.
class Meeting : public Fixed {
 public:
  // Every rank's text, in rank order. All ranks call it equally often.
  [[nodiscard]] virtual std::vector<std::string> all_gather(std::string text) = 0;
};

struct ConnectRequest {
  Rank rank;
  RankCount size;
  std::uint32_t local_rank = 0;  // among the ranks of this machine
  Seconds timeout;               // for every wait; above 0
  // The local address to use, as the ranks reached each other by it; empty: the backend's choice.
  std::string address;
  Meeting* meeting = nullptr;
};

// How the ranks of one machine are started; mpi_processes: by mpirun.
enum class RanksAre { processes, threads, mpi_processes };

// A backend, as `paceline doctor` and --backend see it. The first three are its row's in
// real/CMakeLists.txt; NAME_backend() in its folder says the others.
struct Backend {
  std::string_view name = {}, summary = {};
  std::string_view recommended_for = {};  // "gpus", "cpus", "mpi"; empty: nothing
  std::string version = {};               // of its library
  std::vector<std::string> notes = {};    // lines such as "device 0: NAME, 80 GB", one per device
  std::string missing = {};               // why it cannot be used here; empty when it can
  // Throws BackendError. Null when it was not built.
  std::unique_ptr<Communicator> (*connect)(const ConnectRequest&) = nullptr;
  RanksAre ranks = RanksAre::processes;
};

// Every backend, built or not, in the order of the documentation; looks for devices.
[[nodiscard]] std::vector<Backend> backends();

}  // namespace paceline::real

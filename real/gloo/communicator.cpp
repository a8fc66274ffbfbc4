#include <gloo/allgatherv.h>
#include <gloo/allreduce.h>
#include <gloo/alltoall.h>
#include <gloo/broadcast.h>
#include <gloo/config.h>
#include <gloo/gather.h>
#include <gloo/math.h>
#include <gloo/reduce.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/store.h>
#include <gloo/scatter.h>
#include <gloo/transport/tcp/device.h>
#include <gloo/types.h>
#include <netdb.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <utility>

#include "models/contract.h"
#include "real/backends.h"
#include "real/errors.h"
#include "real/host/host_communicator.h"

namespace paceline::real {
namespace {

using collectives::Collective;
using collectives::Partition;
using ContextPtr = std::shared_ptr<gloo::Context>;

// Gloo's own collectives have slots of prefixes 1 to 8 (gloo/types.h).
constexpr std::uint8_t message_prefix = 0x50;

// "[/a/path/of/its/builder/pair.cc:598] Connection closed by peer" without the place, in one line.
std::string shortened(std::string message) {
  constexpr std::size_t length_max = 200;  // of a line that users read
  if (message.starts_with('[')) {
    if (const auto end = message.find("] "); end != std::string::npos) message.erase(0, end + 2);
  }
  std::ranges::replace(message, '\n', ' ');
  while (message.ends_with(' ')) message.pop_back();
  if (message.size() > length_max) message = message.substr(0, length_max) + "...";
  return message;
}

// Gloo throws classes of its own that have only std::exception in common.
template <class F>
auto calling(const char* call, Rank rank, F f) {
  try {
    return f();
  } catch (const BackendError&) {
    throw;
  } catch (const std::exception& error) {
    throw BackendError("gloo", rank, call, shortened(error.what()));
  }
}

int as_int(Rank rank) { return static_cast<int>(rank.value()); }

class MessageEvent : public Event {
 public:
  MessageEvent(std::unique_ptr<gloo::transport::UnboundBuffer> buffer, Message::Kind kind,
               Rank rank, std::chrono::milliseconds timeout)
      : buffer_(std::move(buffer)), kind_(kind), rank_(rank), timeout_(timeout) {}

 private:
  void do_wait() override {
    if (kind_ == Message::Kind::send) {
      calling("waitSend", rank_, [&] { buffer_->waitSend(timeout_); });
    } else {
      calling("waitRecv", rank_, [&] { buffer_->waitRecv(timeout_); });
    }
  }

  std::unique_ptr<gloo::transport::UnboundBuffer> buffer_;
  Message::Kind kind_;
  Rank rank_;
  std::chrono::milliseconds timeout_;
};

using Sum = gloo::AllreduceOptions::Func;

template <class Element>
Sum gloo_sum() {
  return static_cast<void (*)(void*, const void*, const void*, std::size_t)>(&gloo::sum<Element>);
}

// Gloo has no bfloat16.
void sum_of_bfloat16(void* to, const void* a, const void* b, std::size_t count) {
  const std::size_t size = count * element_size(DataType::bfloat16).value();
  if (to != a) std::memcpy(to, a, size);
  add(DataType::bfloat16, {static_cast<std::byte*>(to), size},
      {static_cast<const std::byte*>(b), size});
}

// A collective on elements of `Element`, or of its size.
template <class Element>
class NativeRun {
 public:
  // `input` is empty for a call in place.
  NativeRun(const ContextPtr& context, const NativeCall& call, std::span<const std::byte> input,
            std::span<std::byte> bytes, Sum sum)
      : context_(context),
        call_(call),
        input_(reinterpret_cast<Element*>(const_cast<std::byte*>(input.data()))),
        data_(reinterpret_cast<Element*>(bytes.data())),
        sum_(std::move(sum)) {}

  void run() {
    switch (call_.collective) {
      // The algorithm is left to gloo, as PyTorch leaves it.
      case Collective::all_reduce:
        return sum_up<gloo::AllreduceOptions>("allreduce", [](auto& all) { gloo::allreduce(all); });
      case Collective::reduce:
        return sum_up<gloo::ReduceOptions>("reduce", [](auto& all) { gloo::reduce(all); });
      case Collective::broadcast: return broadcast();
      case Collective::all_gather: return all_gather();
      case Collective::all_to_all: return all_to_all();
      case Collective::scatter: return scatter();
      case Collective::gather: return gather();
      case Collective::reduce_scatter: break;
    }
    PACELINE_UNREACHABLE("gloo has no such collective");
  }

 private:
  template <class Options>
  [[nodiscard]] Options made() const {
    Options options(context_);
    options.setTag(call_.stream);
    if constexpr (requires { options.setRoot(0); }) options.setRoot(as_int(call_.root));
    return options;
  }

  template <class Options, class Call>
  void sum_up(const char* name, const Call& call) {
    auto options = made<Options>();
    if (input_ != nullptr) options.setInput(input_, call_.count.value());
    options.setOutput(data_, call_.count.value());
    options.setReduceFunction(sum_);
    calling(name, rank(), [&] { call(options); });
  }

  void broadcast() {
    auto options = made<gloo::BroadcastOptions>();
    if (input_ != nullptr && rank() == call_.root) options.setInput(input_, call_.count.value());
    options.setOutput(data_, call_.count.value());
    calling("broadcast", rank(), [&] { gloo::broadcast(options); });
  }

  void all_gather() {
    const auto chunks = Partition::even({ElementCount(0), call_.count}, ranks().value());
    std::vector<std::size_t> counts;
    for (std::uint32_t r = 0; r < ranks().value(); ++r) {
      counts.push_back(chunks.chunk(r).count.value());
    }
    auto options = made<gloo::AllgathervOptions>();
    const ElementRange mine = chunk(rank());
    if (input_ != nullptr) {
      options.setInput(input_ + mine.begin.value(), mine.count.value());
    }
    options.setOutput(data_, std::move(counts));
    calling("allgatherv", rank(), [&] { gloo::allgatherv(options); });
  }

  // Gloo also copies the rank's own block, which the plan does not have.
  void all_to_all() {
    const collectives::AllToAllBlocks blocks{ranks(), call_.count};
    const std::size_t count = blocks.sent(Rank(0)).count.value() * ranks().value();
    if (count == 0) return;
    auto options = made<gloo::AlltoallOptions>();
    options.setInput(data_ + blocks.sent(Rank(0)).begin.value(), count);
    options.setOutput(data_ + blocks.received(Rank(0)).begin.value(), count);
    calling("alltoall", rank(), [&] { gloo::alltoall(options); });
  }

  // Gloo's scatter and gather know equal blocks only: each is as long as the longest chunk and
  // contains its owner's; what a scatter writes beside a chunk is another rank's.
  [[nodiscard]] ElementRange block(Rank owner) const {
    const ElementCount longest = chunk(Rank(0)).count;
    return {std::min(chunk(owner).begin, call_.count - longest), longest};
  }
  [[nodiscard]] ElementRange chunk(Rank owner) const {
    return Partition::even({ElementCount(0), call_.count}, ranks().value()).chunk(owner.value());
  }
  [[nodiscard]] Element* at(ElementRange range) const { return data_ + range.begin.value(); }

  void scatter() {
    auto options = made<gloo::ScatterOptions>();
    if (rank() == call_.root) {
      std::vector<Element*> blocks;
      for (std::uint32_t r = 0; r < ranks().value(); ++r) blocks.push_back(at(block(Rank(r))));
      options.setInputs(std::move(blocks), block(rank()).count.value());
    }
    options.setOutput(at(block(rank())), block(rank()).count.value());
    calling("scatter", rank(), [&] { gloo::scatter(options); });
  }

  void gather() {
    const std::size_t length = block(rank()).count.value();
    const bool is_root = rank() == call_.root;
    std::vector<Element> blocks(is_root ? length * ranks().value() : 0);
    auto options = made<gloo::GatherOptions>();
    options.setInput(at(block(rank())), length);
    if (is_root) options.setOutput(blocks.data(), blocks.size());
    calling("gather", rank(), [&] { gloo::gather(options); });
    for (std::uint32_t r = 0; is_root && r < ranks().value(); ++r) {
      const ElementRange to = chunk(Rank(r));
      const std::size_t inside = (to.begin - block(Rank(r)).begin).value();
      std::copy_n(blocks.data() + r * length + inside, to.count.value(), at(to));
    }
  }

  [[nodiscard]] Rank rank() const { return Rank(static_cast<std::uint32_t>(context_->rank)); }
  [[nodiscard]] RankCount ranks() const {
    return RankCount(static_cast<std::uint32_t>(context_->size));
  }

  const ContextPtr& context_;
  const NativeCall& call_;
  Element* input_;  // null: in place
  Element* data_;
  Sum sum_;
};

// Gloo's functions return when all is done: the thread that waits carries them out.
class NativeEvent : public Event {
 public:
  NativeEvent(ContextPtr context, const NativeCall& call, std::span<const std::byte> input,
              std::span<std::byte> bytes)
      : context_(std::move(context)), call_(call), input_(input), bytes_(bytes) {}

 private:
  void do_wait() override {
    if (call_.count == ElementCount(0)) return;
    if (context_->size == 1) {  // the result is the input
      std::ranges::copy(input_, bytes_.begin());
      return;
    }
    switch (call_.buffer->type()) {
      case DataType::float32: return run<float>(gloo_sum<float>());
      case DataType::float16: return run<gloo::float16>(gloo_sum<gloo::float16>());
      case DataType::bfloat16: return run<std::uint16_t>(sum_of_bfloat16);
      case DataType::float64: return run<double>(gloo_sum<double>());
      case DataType::int32: return run<std::int32_t>(gloo_sum<std::int32_t>());
      case DataType::int64: return run<std::int64_t>(gloo_sum<std::int64_t>());
    }
    PACELINE_UNREACHABLE("a type outside the enumeration");
  }

  template <class Element>
  void run(Sum sum) {
    NativeRun<Element>(context_, call_, input_, bytes_, std::move(sum)).run();
  }

  ContextPtr context_;
  NativeCall call_;
  std::span<const std::byte> input_;
  std::span<std::byte> bytes_;
};

class GlooCommunicator : public HostCommunicator {
 public:
  GlooCommunicator(const ConnectRequest& request, ContextPtr context)
      : HostCommunicator(request.rank, request.size), context_(std::move(context)) {}

 private:
  // Messages of one slot match in the order of posting, as gloo's own ring relies on, too.
  EventPtr post_one(const Message& message, Stream stream) override {
    const auto bytes = on_host(*message.buffer).bytes(message.range);
    auto buffer = context_->createUnboundBuffer(bytes.data(), bytes.size());
    const std::uint64_t slot = gloo::Slot::build(message_prefix, stream);
    if (message.kind == Message::Kind::send) {
      calling("send", rank(), [&] { buffer->send(as_int(message.peer), slot); });
    } else {
      calling("recv", rank(), [&] { buffer->recv(as_int(message.peer), slot); });
    }
    return std::make_unique<MessageEvent>(std::move(buffer), message.kind, rank(),
                                          context_->getTimeout());
  }

  bool has_native(Collective collective) const override {
    return collective != Collective::reduce_scatter;
  }
  bool has_native_from(Collective collective) const override {
    return collective == Collective::all_reduce || collective == Collective::reduce ||
           collective == Collective::broadcast || collective == Collective::all_gather;
  }

  EventPtr do_native(const NativeCall& call) override {
    std::span<const std::byte> input;
    if (call.input != nullptr) {
      input = on_host(*call.input).bytes({ElementCount(0), call.count});
    }
    return std::make_unique<NativeEvent>(context_, call, input, on_host(*call.buffer).bytes());
  }

  ContextPtr context_;
};

// Gloo's key-value store over a meeting: setting a key is a round of it, so all ranks set keys of
// their own, equally often, before they get those of others. Connecting a full mesh does so with
// host names (keys "rank_0", "rank_1"...) and then with addresses (keys "0", "1"...):
// gloo/rendezvous/context.cc.
class MeetingStore : public gloo::rendezvous::Store {
 public:
  explicit MeetingStore(Meeting& meeting) : meeting_(meeting) {}

  void set(const std::string& key, const std::vector<char>& data) override {
    const std::string mine = key + ' ' + std::string(data.begin(), data.end());
    for (const std::string& pair : meeting_.all_gather(mine)) {
      const auto end = pair.find(' ');
      PACELINE_EXPECTS(end != std::string::npos);
      values_[pair.substr(0, end)].assign(pair.begin() + static_cast<std::ptrdiff_t>(end) + 1,
                                          pair.end());
    }
  }
  std::vector<char> get(const std::string& key) override { return values_.at(key); }
  // When set() returns, all have set theirs.
  void wait(const std::vector<std::string>& /*keys*/) override {}
  void wait(const std::vector<std::string>& /*keys*/,
            const std::chrono::milliseconds& /*timeout*/) override {}

 private:
  Meeting& meeting_;
  std::map<std::string, std::vector<char>> values_;
};

// Whether this machine can listen at the name: gloo passes over getaddrinfo's errors.
bool is_usable(const std::string& name) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(name.c_str(), nullptr, &hints, &found) != 0) return false;
  bool usable = false;
  for (const addrinfo* one = found; one != nullptr && !usable; one = one->ai_next) {
    const int descriptor = ::socket(one->ai_family, one->ai_socktype, one->ai_protocol);
    if (descriptor < 0) continue;
    usable = ::bind(descriptor, one->ai_addr, one->ai_addrlen) == 0;
    ::close(descriptor);
  }
  ::freeaddrinfo(found);
  return usable;
}

std::string wanted_interface() {
  const char* name = std::getenv("GLOO_SOCKET_IFNAME");
  return name == nullptr ? "" : name;
}

gloo::transport::tcp::attr local_end(const ConnectRequest& request) {
  gloo::transport::tcp::attr end;
  end.iface = wanted_interface();
  if (!end.iface.empty()) return end;
  if (!request.address.empty()) {
    if (!is_usable(request.address)) {
      throw BackendError("gloo", request.rank, "bind",
                         request.address + " is no address of this machine");
    }
    end.hostname = request.address;
    return end;
  }
  std::array<char, HOST_NAME_MAX + 1> name{};
  const bool has_name = ::gethostname(name.data(), name.size()) == 0;
  end.hostname = has_name && is_usable(name.data()) ? name.data() : "127.0.0.1";
  return end;
}

// Gloo's writes raise SIGPIPE when a peer is gone; ignored, as in Python, they fail instead.
void ignore_broken_pipes() {
  struct sigaction now {};
  if (::sigaction(SIGPIPE, nullptr, &now) == 0 && now.sa_handler == SIG_DFL) {
    ::signal(SIGPIPE, SIG_IGN);
  }
}

// Above 0, which is gloo's word for none, and few enough for its arithmetic in nanoseconds.
std::chrono::milliseconds in_milliseconds(Seconds timeout) {
  return std::chrono::milliseconds(
      static_cast<std::int64_t>(std::clamp(std::ceil(timeout.value() * 1e3), 1.0, 1e11)));
}

}  // namespace

std::unique_ptr<Communicator> connect_gloo(const ConnectRequest& request) {
  ignore_broken_pipes();
  const auto end = local_end(request);
  auto device = calling("CreateDevice", request.rank,
                        [&] { return gloo::transport::tcp::CreateDevice(end); });
  auto context = std::make_shared<gloo::rendezvous::Context>(
      as_int(request.rank), static_cast<int>(request.size.value()));
  const auto timeout = in_milliseconds(request.timeout);
  // For a connection gloo waits five times as long (tcp/pair.h, waitUntil).
  context->setTimeout(std::max(timeout / 5, std::chrono::milliseconds(1)));
  MeetingStore store(*request.meeting);
  calling("connectFullMesh", request.rank, [&] { context->connectFullMesh(store, device); });
  context->setTimeout(timeout);
  return std::make_unique<GlooCommunicator>(request, std::move(context));
}

Backend gloo_backend() {
  std::vector<std::string> notes;
  if (!wanted_interface().empty()) notes.push_back("GLOO_SOCKET_IFNAME is " + wanted_interface());
  return {.version = std::to_string(GLOO_VERSION_MAJOR) + "." + std::to_string(GLOO_VERSION_MINOR) +
                     "." + std::to_string(GLOO_VERSION_PATCH),
          .notes = std::move(notes),
          .connect = connect_gloo};
}

}  // namespace paceline::real

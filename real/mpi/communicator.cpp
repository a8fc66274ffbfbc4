#include <mpi.h>
#include <sched.h>
#include <sys/prctl.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include "models/contract.h"
#include "models/units/parse.h"
#include "real/backends.h"
#include "real/errors.h"
#include "real/host/host_communicator.h"
#include "real/scratch_pool.h"

#if defined(__SANITIZE_ADDRESS__)
// Asked by the leak check. Open MPI unloads plugins with what they took: no list can suppress it.
extern "C" int __lsan_is_turned_off() {
  int begun = 0;
  MPI_Initialized(&begun);
  return begun;
}
#endif

namespace paceline::real {
namespace {

using collectives::AllToAllBlocks;
using collectives::Collective;
using collectives::Partition;

// Whether a call failed or took too long: then nothing that waits for other ranks may follow.
std::atomic<bool> failed = false;

[[noreturn]] void fail(Rank rank, const char* call, const std::string& message) {
  failed = true;
  throw BackendError("mpi", rank, call, message);
}

void check(int status, Rank rank, const char* call) {
  if (status == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(status, text.data(), &length);
  fail(rank, call, text.data());
}

// MPI has no 16-bit floating-point types.
template <DataType type>
void add_on_host(void* from, void* to, int* count, MPI_Datatype* /*type*/) {
  const std::size_t bytes = static_cast<std::size_t>(*count) * element_size(type).value();
  add(type, {static_cast<std::byte*>(to), bytes}, {static_cast<const std::byte*>(from), bytes});
}

struct Summand {
  MPI_Datatype type;
  MPI_Op sum;
};

// MPI in this process, from the first use to the process' exit.
class Library {
 public:
  static const Library& begin(Rank rank, Seconds timeout) {
    static const Library library(rank, timeout);
    return library;
  }

  [[nodiscard]] Summand summand(DataType type) const {
    switch (type) {
      case DataType::float32: return {MPI_FLOAT, MPI_SUM};
      case DataType::float16: return {MPI_UINT16_T, sum_float16_};
      case DataType::bfloat16: return {MPI_UINT16_T, sum_bfloat16_};
      case DataType::float64: return {MPI_DOUBLE, MPI_SUM};
      case DataType::int32: return {MPI_INT32_T, MPI_SUM};
      case DataType::int64: return {MPI_INT64_T, MPI_SUM};
    }
    PACELINE_UNREACHABLE("a type outside the enumeration");
  }

 private:
  Library(Rank rank, Seconds timeout) {
    int provided = MPI_THREAD_SINGLE;
    {
      const auto limit = limit_of_start(rank, timeout);
      check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided), rank,
            "MPI_Init_thread");
    }
    check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), rank,
          "MPI_Comm_set_errhandler");
    if (provided < MPI_THREAD_MULTIPLE) {
      fail(rank, "MPI_Init_thread", "this MPI was built without MPI_THREAD_MULTIPLE");
    }
    constexpr int commutative = 1;
    check(MPI_Op_create(add_on_host<DataType::float16>, commutative, &sum_float16_), rank,
          "MPI_Op_create");
    check(MPI_Op_create(add_on_host<DataType::bfloat16>, commutative, &sum_bfloat16_), rank,
          "MPI_Op_create");
  }
  ~Library() {
    if (failed) return;
    MPI_Op_free(&sum_float16_);
    MPI_Op_free(&sum_bfloat16_);
    MPI_Finalize();
  }

  // MPI_Init_thread waits for mpirun and all ranks without a limit, and cannot be left. Its limit
  // is no message's: it takes a second on an idle machine.
  static std::jthread limit_of_start(Rank rank, Seconds of_messages) {
    constexpr Seconds least(5);
    return std::jthread(
        [rank, timeout = std::max(of_messages, least)](const std::stop_token& stop) {
          std::mutex mutex;
          std::unique_lock lock(mutex);
          std::condition_variable_any never;
          never.wait_for(lock, stop, std::chrono::duration<double>(timeout.value()),
                         [] { return false; });
          if (stop.stop_requested()) return;
          const BackendError late("mpi", rank, "MPI_Init_thread",
                                  "not done within " + to_text(timeout));
          std::fputs(("paceline-worker: " + std::string(late.what()) + "\n").c_str(), stderr);
          std::_Exit(environment_status);
        });
  }

  MPI_Op sum_float16_ = MPI_OP_NULL;
  MPI_Op sum_bfloat16_ = MPI_OP_NULL;
};

// Between two looks at what a thread waits for. Many ranks share few cores: it gives the core to
// whoever is ready, then for longer and longer. README.md derives the constants.
class Pause {
 public:
  Pause() {
    // Linux lets a sleep last 50 us longer by default, a thread at a time.
    constexpr unsigned long slack_ns = 1'000;
    thread_local const int set = ::prctl(PR_SET_TIMERSLACK, slack_ns, 0, 0, 0);
    (void)set;  // without it waits are coarser, not wrong
  }

  void take() {
    if (yields_left_ > 0) {
      --yields_left_;
      ::sched_yield();
      return;
    }
    const timespec length{0, length_ns_};
    ::nanosleep(&length, nullptr);
    length_ns_ = std::min(length_ns_ * 2, longest_ns);
  }

 private:
  // A wake-up costs about 7 us of a core: a rank that waits at the longest uses 4 % of one.
  static constexpr long first_ns = 20'000, longest_ns = 200'000;

  int yields_left_ = 4;
  long length_ns_ = first_ns;
};

class Requests {
 public:
  Requests(Rank rank, Seconds timeout) : rank_(rank), timeout_(timeout) {}

  // Where MPI puts the next one.
  MPI_Request* next() { return &requests_.emplace_back(MPI_REQUEST_NULL); }

  // Looking at one makes all of the process progress.
  void wait() {
    const Seconds end = steady_now() + timeout_;
    Pause pause;
    for (MPI_Request& request : requests_) {
      while (!is_done(request)) {
        if (steady_now() > end) fail(rank_, "MPI_Wait", "no end within " + to_text(timeout_));
        pause.take();
      }
    }
  }

 private:
  bool is_done(MPI_Request& request) const {
    int done = 0;
    check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), rank_, "MPI_Test");
    return done != 0;
  }

  Rank rank_;
  Seconds timeout_;
  std::vector<MPI_Request> requests_;
};

class Transfer : public Event {
 public:
  explicit Transfer(Requests requests) : requests_(std::move(requests)) {}

 private:
  void do_wait() override { requests_.wait(); }

  Requests requests_;
};

// A collective of MPI's in flight, and what it must not lose until it is done.
struct NativeWork : public Event {
  NativeWork(Requests begun, ScratchPool& its_pool) : requests(std::move(begun)), pool(its_pool) {}

  Requests requests;
  ScratchPool& pool;
  std::unique_ptr<Buffer> scratch;
  std::span<std::byte> result;  // where the scratch buffer's first bytes go in the end
  std::vector<int> counts, begins;

 private:
  void do_wait() override {
    requests.wait();
    if (!scratch) return;
    scratch->read(
        {ElementCount(0), ElementCount(result.size() / element_size(scratch->type()).value())},
        result);
    pool.give_back(std::move(scratch));
  }
};

int as_int(ElementCount count) { return static_cast<int>(count.value()); }

ElementRange whole(const NativeCall& call) { return {ElementCount(0), call.count}; }

void lay_out(const NativeCall& call, RankCount ranks, NativeWork& work) {
  const Partition chunks = Partition::even(whole(call), ranks.value());
  for (std::uint64_t r = 0; r < chunks.chunks(); ++r) {
    work.counts.push_back(as_int(chunks.chunk(r).count));
    work.begins.push_back(as_int(chunks.chunk(r).begin));
  }
}

// Told MPI_IN_PLACE, and also below 4 ranks or 64 KiB, Open MPI 4.1 sends whole buffers along a
// tree; else halves, which is less on a power of two of ranks (libnbc/nbc_iallreduce.c; README.md).
bool is_better_apart(RankCount ranks, Bytes size) {
  return ranks >= RankCount(4) && size >= Bytes(64 * 1024);
}

class MpiCommunicator : public HostCommunicator {
 public:
  MpiCommunicator(const ConnectRequest& request, const Library& library)
      : HostCommunicator(request.rank, request.size),
        library_(library),
        timeout_(request.timeout),
        pool_(*this) {
    // MPI may order ranks otherwise. Collectives have a communicator apart from messages.
    const int key = static_cast<int>(request.rank.value());
    check(MPI_Comm_split(MPI_COMM_WORLD, 0, key, &messages_), rank(), "MPI_Comm_split");
    check(MPI_Comm_dup(messages_, &collectives_), rank(), "MPI_Comm_dup");
  }
  ~MpiCommunicator() override {
    if (failed) return;
    MPI_Comm_free(&collectives_);
    MPI_Comm_free(&messages_);
  }

 private:
  EventPtr post_one(const Message& message, Stream stream) override {
    // MPI counts in int: longer messages go in parts, which both sides cut alike.
    constexpr std::size_t part_max = std::size_t{1} << 30;
    Requests requests = this->requests();
    auto bytes = on_host(*message.buffer).bytes(message.range);
    while (!bytes.empty()) {
      const auto part = bytes.first(std::min(bytes.size(), part_max));
      post_bytes(message, part, stream, requests.next());
      bytes = bytes.subspan(part.size());
    }
    return std::make_unique<Transfer>(std::move(requests));
  }

  // Below Open MPI's eager limit over TCP (btl_tcp_eager_limit, 64 KiB with its header): a longer
  // message's answer would queue up behind all that the receiver sends itself.
  Bytes piece() const override { return Bytes(64'000); }
  bool sends_early() const override { return true; }
  bool has_native(Collective /*collective*/) const override { return true; }
  // MPI broadcasts in place only.
  bool has_native_from(Collective collective) const override {
    return collective == Collective::all_reduce || collective == Collective::reduce_scatter ||
           collective == Collective::all_gather || collective == Collective::reduce;
  }

  [[nodiscard]] Requests requests() const { return {rank(), timeout_}; }
  [[nodiscard]] ElementRange own_chunk(const NativeCall& call) const {
    return Partition::even({ElementCount(0), call.count}, size().value()).chunk(rank().value());
  }

  void post_bytes(const Message& message, std::span<std::byte> bytes, Stream stream,
                  MPI_Request* request) {
    const int length = static_cast<int>(bytes.size());
    const int peer = static_cast<int>(message.peer.value());
    const int tag = static_cast<int>(stream);
    if (message.kind == Message::Kind::send) {
      check(MPI_Isend(bytes.data(), length, MPI_BYTE, peer, tag, messages_, request), rank(),
            "MPI_Isend");
    } else {
      check(MPI_Irecv(bytes.data(), length, MPI_BYTE, peer, tag, messages_, request), rank(),
            "MPI_Irecv");
    }
  }

  EventPtr do_native(const NativeCall& call) override {
    if (call.count > ElementCount(std::numeric_limits<int>::max())) {
      fail(rank(), "a collective", "MPI counts 2147483647 elements at most");
    }
    auto work = std::make_unique<NativeWork>(requests(), pool_);
    if (call.count == ElementCount(0)) return work;
    switch (call.collective) {
      case Collective::all_reduce: begin_all_reduce(call, *work); break;
      case Collective::reduce_scatter: begin_reduce_scatter(call, *work); break;
      case Collective::all_gather:
      case Collective::all_to_all: begin_between_all(call, *work); break;
      case Collective::broadcast:
      case Collective::reduce:
      case Collective::scatter:
      case Collective::gather: begin_with_root(call, *work); break;
    }
    return work;
  }

  void begin_all_reduce(const NativeCall& call, NativeWork& work) {
    const auto [type, sum] = library_.summand(call.buffer->type());
    const auto bytes = on_host(*call.buffer).bytes(whole(call));
    const void* from = MPI_IN_PLACE;
    if (call.input != nullptr) {
      from = on_host(*call.input).bytes(whole(call)).data();
    } else if (is_better_apart(size(), Bytes(bytes.size()))) {
      work.scratch = pool_.take(call.buffer->type(), call.count);
      work.scratch->write(whole(call), bytes);
      from = on_host(*work.scratch).bytes().data();
    }
    check(MPI_Iallreduce(from, bytes.data(), as_int(call.count), type, sum, collectives_,
                         work.requests.next()),
          rank(), "MPI_Iallreduce");
  }

  // In place, MPI would put the result where the buffer begins.
  void begin_reduce_scatter(const NativeCall& call, NativeWork& work) {
    const auto [type, sum] = library_.summand(call.buffer->type());
    lay_out(call, size(), work);
    const ElementRange mine = own_chunk(call);
    const auto result = on_host(*call.buffer).bytes(mine);
    const void* from = nullptr;
    void* to = result.data();
    if (call.input != nullptr) {
      from = on_host(*call.input).bytes(whole(call)).data();
    } else {
      work.result = result;
      work.scratch = pool_.take(call.buffer->type(), mine.count);
      from = on_host(*call.buffer).bytes().data();
      to = on_host(*work.scratch).bytes().data();
    }
    check(MPI_Ireduce_scatter(from, to, work.counts.data(), type, sum, collectives_,
                              work.requests.next()),
          rank(), "MPI_Ireduce_scatter");
  }

  void begin_between_all(const NativeCall& call, NativeWork& work) {
    const MPI_Datatype type = library_.summand(call.buffer->type()).type;
    HostBuffer& buffer = on_host(*call.buffer);
    MPI_Request* const request = work.requests.next();
    if (call.collective == Collective::all_to_all) {
      // MPI also copies a rank's own block, from one half to the other.
      const AllToAllBlocks blocks{size(), call.count};
      const auto to_first = blocks.sent(Rank(0)), from_first = blocks.received(Rank(0));
      return check(MPI_Ialltoall(buffer.bytes(to_first).data(), as_int(to_first.count), type,
                                 buffer.bytes(from_first).data(), as_int(from_first.count), type,
                                 collectives_, request),
                   rank(), "MPI_Ialltoall");
    }
    lay_out(call, size(), work);
    const ElementRange mine = own_chunk(call);
    const void* from = MPI_IN_PLACE;
    if (call.input != nullptr) from = on_host(*call.input).bytes(mine).data();
    check(MPI_Iallgatherv(from, as_int(mine.count), type, buffer.bytes().data(), work.counts.data(),
                          work.begins.data(), type, collectives_, request),
          rank(), "MPI_Iallgatherv");
  }

  // In place at the root, whose own chunk is where it belongs.
  void begin_with_root(const NativeCall& call, NativeWork& work) {
    const auto [type, sum] = library_.summand(call.buffer->type());
    HostBuffer& buffer = on_host(*call.buffer);
    std::byte* const all = buffer.bytes().data();
    const bool is_root = rank() == call.root;
    const int root = static_cast<int>(call.root.value()), count = as_int(call.count);
    MPI_Request* const request = work.requests.next();
    if (call.collective == Collective::broadcast) {
      return check(MPI_Ibcast(all, count, type, root, collectives_, request), rank(), "MPI_Ibcast");
    }
    if (call.collective == Collective::reduce) {
      const void* from = is_root ? MPI_IN_PLACE : all;
      if (call.input != nullptr) from = on_host(*call.input).bytes(whole(call)).data();
      return check(
          MPI_Ireduce(from, is_root ? all : nullptr, count, type, sum, root, collectives_, request),
          rank(), "MPI_Ireduce");
    }
    lay_out(call, size(), work);
    const ElementRange mine = own_chunk(call);
    void* const own = is_root ? MPI_IN_PLACE : buffer.bytes(mine).data();
    if (call.collective == Collective::scatter) {
      return check(MPI_Iscatterv(all, work.counts.data(), work.begins.data(), type, own,
                                 as_int(mine.count), type, root, collectives_, request),
                   rank(), "MPI_Iscatterv");
    }
    check(MPI_Igatherv(own, as_int(mine.count), type, all, work.counts.data(), work.begins.data(),
                       type, root, collectives_, request),
          rank(), "MPI_Igatherv");
  }

  const Library& library_;
  Seconds timeout_;
  ScratchPool pool_;
  MPI_Comm messages_ = MPI_COMM_NULL;
  MPI_Comm collectives_ = MPI_COMM_NULL;
};

// "Open MPI v4.1.4" of "Open MPI v4.1.4, package: ..."; may be asked before MPI is begun.
std::string library_version() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  if (MPI_Get_library_version(text.data(), &length) != MPI_SUCCESS) return "";
  const std::string all = text.data();
  return all.substr(0, all.find_first_of(",\n"));
}

}  // namespace

std::unique_ptr<Communicator> connect_mpi(const ConnectRequest& request) {
  // Without a launcher MPI would begin a world of one, for which it starts a daemon.
  if (std::getenv("OMPI_COMM_WORLD_SIZE") == nullptr) {
    fail(request.rank, "MPI_Init_thread",
         "this process was not started by mpirun; start it with mpirun -n " +
             std::to_string(request.size.value()));
  }
  const Library& library = Library::begin(request.rank, request.timeout);
  int processes = 0;
  check(MPI_Comm_size(MPI_COMM_WORLD, &processes), request.rank, "MPI_Comm_size");
  if (static_cast<std::uint32_t>(processes) != request.size.value()) {
    fail(request.rank, "MPI_Comm_size",
         "mpirun started " + std::to_string(processes) + " processes for " +
             std::to_string(request.size.value()) + " ranks; start it with mpirun -n " +
             std::to_string(request.size.value()));
  }
  // None waits inside MPI, where there is no timeout, for one that has not come this far.
  if (request.meeting != nullptr) (void)request.meeting->all_gather("");
  return std::make_unique<MpiCommunicator>(request, library);
}

Backend mpi_backend() {
  return {.version = library_version(), .connect = connect_mpi, .ranks = RanksAre::mpi_processes};
}

}  // namespace paceline::real

#include "tests/device_stand_in/nccl_region.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <random>
#include <thread>

namespace paceline::stand_in {
namespace {

// What an ncclUniqueId holds.
struct Name {
  pid_t process;
  int file;
  std::uint64_t nonce;
};
static_assert(sizeof(Name) <= sizeof(ncclUniqueId));

Region* map(int file) {
  void* const at = mmap(nullptr, sizeof(Region), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  return at == MAP_FAILED ? nullptr : static_cast<Region*>(at);
}

// One message on its way.
struct Moving {
  Transfer transfer;
  std::size_t done = 0;  // of the length and the bytes
  std::array<std::byte, sizeof(std::uint64_t)> length;

  explicit Moving(const Transfer& what) : transfer(what) {
    const std::uint64_t bytes = what.bytes;
    std::memcpy(length.data(), &bytes, sizeof bytes);
  }
  [[nodiscard]] bool is_done() const { return done == length.size() + transfer.bytes; }

  // How many bytes went.
  std::size_t move(Pipe& pipe) {
    const bool in_length = done < length.size();
    std::byte* const at =
        in_length ? length.data() + done : transfer.memory + (done - length.size());
    const std::size_t left =
        in_length ? length.size() - done : length.size() + transfer.bytes - done;
    const std::size_t moved = transfer.sends ? pipe.put(at, left) : pipe.take(at, left);
    done += moved;
    return moved;
  }
  [[nodiscard]] std::uint64_t length_of_peer() const {
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, length.data(), sizeof bytes);
    return bytes;
  }
};

}  // namespace

std::size_t Pipe::put(const std::byte* from, std::size_t count) {
  const auto at = written.load(std::memory_order_relaxed);
  const std::size_t room = capacity - (at - read.load(std::memory_order_acquire));
  const std::size_t begin = at % capacity;
  const std::size_t now = std::min({count, room, capacity - begin});
  if (now == 0) return 0;
  std::memcpy(bytes.data() + begin, from, now);
  written.store(at + now, std::memory_order_release);
  return now;
}

std::size_t Pipe::take(std::byte* to, std::size_t count) {
  const auto at = read.load(std::memory_order_relaxed);
  const std::size_t there = written.load(std::memory_order_acquire) - at;
  const std::size_t begin = at % capacity;
  const std::size_t now = std::min({count, there, capacity - begin});
  if (now == 0) return 0;
  std::memcpy(to, bytes.data() + begin, now);
  read.store(at + now, std::memory_order_release);
  return now;
}

bool Region::make(ncclUniqueId& id) {
  const int file = memfd_create("paceline device stand-in", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, sizeof(Region)) != 0) return false;
  Region* const region = map(file);
  if (region == nullptr) return false;
  std::random_device random;
  region->nonce = std::uint64_t{random()} << 32 | random();
  const Name name{getpid(), file, region->nonce};
  std::memset(&id, 0, sizeof id);
  std::memcpy(&id, &name, sizeof name);
  close(region);
  return true;
}

Region* Region::open(const ncclUniqueId& id) {
  Name name{};
  std::memcpy(&name, &id, sizeof name);
  const std::string path =
      "/proc/" + std::to_string(name.process) + "/fd/" + std::to_string(name.file);
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return nullptr;
  Region* const region = map(file);
  ::close(file);
  if (region != nullptr && region->nonce != name.nonce) return nullptr;
  return region;
}

void Region::close(Region* region) { munmap(region, sizeof *region); }

std::string exchange(Region& region, int rank, const std::vector<Transfer>& transfers,
                     const std::function<bool()>& stopped) {
  const auto me = static_cast<std::size_t>(rank);
  std::map<std::pair<bool, int>, std::vector<Moving>> queues;  // of each peer, last first
  for (auto one = transfers.rbegin(); one != transfers.rend(); ++one) {
    queues[{one->sends, one->peer}].emplace_back(*one);
  }
  unsigned idle = 0;
  while (!queues.empty()) {
    std::size_t moved = 0;
    for (auto at = queues.begin(); at != queues.end();) {
      Moving& first = at->second.back();
      const auto peer = static_cast<std::size_t>(first.transfer.peer);
      Pipe& pipe = first.transfer.sends ? region.pipes[me][peer] : region.pipes[peer][me];
      moved += first.move(pipe);
      if (first.done >= first.length.size() && first.length_of_peer() != first.transfer.bytes) {
        return "rank " + std::to_string(peer) + " sends " + std::to_string(first.length_of_peer()) +
               " bytes where rank " + std::to_string(rank) + " receives " +
               std::to_string(first.transfer.bytes);
      }
      if (first.is_done()) at->second.pop_back();
      at = at->second.empty() ? queues.erase(at) : std::next(at);
    }
    idle = moved > 0 ? 0 : idle + 1;
    if (idle == 0) continue;
    if (stopped()) return "stopped";
    if (idle < 50) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(std::chrono::microseconds(std::min(idle, 200U)));
    }
  }
  return "";
}

}  // namespace paceline::stand_in

#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <new>

#include "tests/device_stand_in/device.h"
#include "tests/device_stand_in/settings.h"

namespace paceline::stand_in {
namespace {

constexpr std::size_t page = 4096;
constexpr std::align_val_t alignment{256};  // of cudaMalloc (Programming Guide)
constexpr int unset_byte = 0x5a;

// The bytes themselves, where tools that watch the host's memory see what goes past their ends.
struct Allocation {
  int device;
  std::size_t size;
  std::size_t mapped;
  std::byte* bytes;
};

struct Allocations {
  std::mutex mutex;
  std::map<std::uintptr_t, Allocation> by_address;

  // Null where it begins in none.
  std::map<std::uintptr_t, Allocation>::iterator find(const void* address) {
    const auto value = reinterpret_cast<std::uintptr_t>(address);
    auto after = by_address.upper_bound(value);
    if (after == by_address.begin()) return by_address.end();
    --after;
    return value <= after->first + after->second.size ? after : by_address.end();
  }
};

Allocations& allocations() {
  static auto& all = *new Allocations;  // streams may outlive the end of main
  return all;
}

}  // namespace

void* Memory::allocate(int device, std::size_t bytes) {
  if (bytes == 0) return nullptr;
  const std::size_t mapped = (bytes + 2 * page - 1) / page * page;  // none begins where one ends
  void* const front =
      mmap(nullptr, mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (front == MAP_FAILED) misused("the host has no addresses left");
  auto* const behind = static_cast<std::byte*>(::operator new(bytes, alignment));
  std::memset(behind, unset_byte, bytes);
  const std::lock_guard lock(allocations().mutex);
  allocations().by_address[reinterpret_cast<std::uintptr_t>(front)] = {device, bytes, mapped,
                                                                       behind};
  return front;
}

bool Memory::free(void* address) {
  const std::lock_guard lock(allocations().mutex);
  const auto found = allocations().by_address.find(reinterpret_cast<std::uintptr_t>(address));
  if (found == allocations().by_address.end()) return false;
  munmap(address, found->second.mapped);
  ::operator delete(found->second.bytes, alignment);
  allocations().by_address.erase(found);
  return true;
}

std::byte* Memory::resolve(int device, const void* address, std::size_t bytes) {
  const std::lock_guard lock(allocations().mutex);
  const auto found = allocations().find(address);
  if (found == allocations().by_address.end() || found->second.device != device) return nullptr;
  const std::size_t offset = reinterpret_cast<std::uintptr_t>(address) - found->first;
  if (offset + bytes > found->second.size) return nullptr;
  return found->second.bytes + offset;
}

int Memory::device_of(const void* address) {
  const std::lock_guard lock(allocations().mutex);
  const auto found = allocations().find(address);
  return found == allocations().by_address.end() ? -1 : found->second.device;
}

}  // namespace paceline::stand_in

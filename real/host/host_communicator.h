#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "real/backend.h"

namespace paceline::real {

// to[i] += from[i], in the type's own precision: sums of 16-bit types are rounded after each.
// Precondition: both are as long, whole elements, and aligned for the type.
void add(DataType type, std::span<std::byte> to, std::span<const std::byte> from);

class HostBuffer : public Buffer {
 public:
  HostBuffer(DataType type, ElementCount count);

  [[nodiscard]] std::span<std::byte> bytes() { return bytes_; }
  // Precondition: the range is inside.
  [[nodiscard]] std::span<std::byte> bytes(ElementRange range);
  [[nodiscard]] std::span<const std::byte> bytes(ElementRange range) const;

 private:
  void do_write(std::size_t first_byte, std::span<const std::byte> host) override;
  void do_read(std::size_t first_byte, std::span<std::byte> host) const override;

  std::vector<std::byte> bytes_;
};

// What the backends of CPU ranks have in common: memory, sums, and timed waits in place of compute.
class HostCommunicator : public Communicator {
 public:
  using Communicator::Communicator;

 protected:
  // Precondition: the buffer came from a host communicator's allocate().
  [[nodiscard]] static auto& on_host(auto& buffer) { return own_buffer<HostBuffer>(buffer); }

 private:
  std::unique_ptr<Buffer> allocate(DataType type, ElementCount count) override;
  void do_put(Arrival how, Buffer& to, ElementRange range, const Buffer& from, ElementCount begin,
              Stream stream) override;
  std::vector<EventPtr> do_post(std::span<const Message> messages, Stream stream) override {
    std::vector<EventPtr> events;
    for (const Message& message : messages) events.push_back(post_one(message, stream));
    return events;
  }
  virtual EventPtr post_one(const Message& message, Stream stream) = 0;
  bool in_order() const override { return false; }
  void do_finish(Stream /*stream*/) override {}  // not in order: never called
  // Adding half a MiB takes about 0.1 ms, sending it at 10 Gbit/s 0.4 ms: the last piece's sum is
  // hardly seen, nor is a piece's own cost.
  Bytes piece() const override { return Bytes(512 * 1024); }
  EventPtr do_compute(Seconds start, Seconds duration) override;
};

}  // namespace paceline::real

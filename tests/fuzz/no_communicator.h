#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "models/contract.h"
#include "real/backend.h"

// Stands for a backend where a point is checked and made ready, but not run: its buffers have no
// memory, and it carries nothing out.
namespace paceline::test {

class NoBuffer : public real::Buffer {
 public:
  using Buffer::Buffer;

 private:
  void do_write(std::size_t, std::span<const std::byte>) override {}
  void do_read(std::size_t, std::span<std::byte>) const override {}
};

class NoCommunicator : public real::Communicator {
 public:
  using Communicator::Communicator;

 private:
  std::unique_ptr<real::Buffer> allocate(DataType type, ElementCount count) override {
    return std::make_unique<NoBuffer>(type, count);
  }
  std::vector<real::EventPtr> do_post(std::span<const real::Message>, real::Stream) override {
    PACELINE_UNREACHABLE("nothing is sent");
  }
  void do_put(real::Arrival, real::Buffer&, real::ElementRange, const real::Buffer&, ElementCount,
              real::Stream) override {}
  [[nodiscard]] bool in_order() const override { return false; }
  void do_finish(real::Stream) override {}
  [[nodiscard]] Bytes piece() const override { return Bytes(1 << 16); }
  [[nodiscard]] bool has_native(collectives::Collective) const override { return true; }
  real::EventPtr do_native(const real::NativeCall&) override {
    PACELINE_UNREACHABLE("nothing is called");
  }
  real::EventPtr do_compute(Seconds, Seconds) override { PACELINE_UNREACHABLE("nothing computes"); }
};

}  // namespace paceline::test

#include "real/host/host_communicator.h"

#include <algorithm>

#include "models/contract.h"
#include "real/host/add.h"

namespace paceline::real {
namespace {

class TimedWait : public Event {
 public:
  explicit TimedWait(Seconds end) : end_(end) {}

 private:
  void do_wait() override { sleep_until(end_); }

  Seconds end_;
};

}  // namespace

HostBuffer::HostBuffer(DataType type, ElementCount count)
    : Buffer(type, count), bytes_((count * element_size(type)).value()) {}

std::span<std::byte> HostBuffer::bytes(ElementRange range) {
  const ElementSize size = element_size(type());
  return std::span(bytes_).subspan((range.begin * size).value(), (range.count * size).value());
}

std::span<const std::byte> HostBuffer::bytes(ElementRange range) const {
  const ElementSize size = element_size(type());
  return std::span(bytes_).subspan((range.begin * size).value(), (range.count * size).value());
}

void HostBuffer::do_write(std::size_t first_byte, std::span<const std::byte> host) {
  std::copy(host.begin(), host.end(), bytes_.begin() + static_cast<std::ptrdiff_t>(first_byte));
}

void HostBuffer::do_read(std::size_t first_byte, std::span<std::byte> host) const {
  std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(first_byte), host.size(), host.begin());
}

HostBuffer& HostCommunicator::on_host(Buffer& buffer) {
  auto* host = dynamic_cast<HostBuffer*>(&buffer);
  PACELINE_EXPECTS(host != nullptr);
  return *host;
}

const HostBuffer& HostCommunicator::on_host(const Buffer& buffer) {
  const auto* host = dynamic_cast<const HostBuffer*>(&buffer);
  PACELINE_EXPECTS(host != nullptr);
  return *host;
}

std::unique_ptr<Buffer> HostCommunicator::do_allocate(DataType type, ElementCount count) {
  return std::make_unique<HostBuffer>(type, count);
}

void HostCommunicator::do_add(Buffer& to, ElementRange range, const Buffer& from,
                              ElementCount begin, Stream /*stream*/) {
  real::add(to.type(), on_host(to).bytes(range), on_host(from).bytes({begin, range.count}));
}

void HostCommunicator::do_copy(Buffer& to, ElementRange range, const Buffer& from,
                               ElementCount begin, Stream /*stream*/) {
  std::ranges::copy(on_host(from).bytes({begin, range.count}), on_host(to).bytes(range).begin());
}

EventPtr HostCommunicator::do_compute(Seconds start, Seconds duration) {
  return std::make_unique<TimedWait>(start + duration);
}

}  // namespace paceline::real

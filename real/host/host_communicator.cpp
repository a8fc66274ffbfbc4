#include "real/host/host_communicator.h"

#include <Eigen/Core>
#include <algorithm>
#include <cstdint>

#include "models/contract.h"

namespace paceline::real {
namespace {

class TimedWait : public Event {
 public:
  explicit TimedWait(Seconds end) : end_(end) {}

 private:
  void do_wait() override { sleep_until(end_); }

  Seconds end_;
};

template <class Element>
void add_as(std::span<std::byte> to, std::span<const std::byte> from) {
  using Elements = Eigen::Array<Element, Eigen::Dynamic, 1>;
  const auto count = static_cast<Eigen::Index>(to.size() / sizeof(Element));
  Eigen::Map<Elements>(reinterpret_cast<Element*>(to.data()), count) +=
      Eigen::Map<const Elements>(reinterpret_cast<const Element*>(from.data()), count);
}

}  // namespace

void add(DataType type, std::span<std::byte> to, std::span<const std::byte> from) {
  PACELINE_EXPECTS(to.size() == from.size());
  PACELINE_EXPECTS(to.size() % element_size(type).value() == 0);
  switch (type) {
    case DataType::float32: return add_as<float>(to, from);
    case DataType::float16: return add_as<Eigen::half>(to, from);
    case DataType::bfloat16: return add_as<Eigen::bfloat16>(to, from);
    case DataType::float64: return add_as<double>(to, from);
    case DataType::int32: return add_as<std::int32_t>(to, from);
    case DataType::int64: return add_as<std::int64_t>(to, from);
  }
  PACELINE_UNREACHABLE("a type outside the enumeration");
}

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

std::unique_ptr<Buffer> HostCommunicator::allocate(DataType type, ElementCount count) {
  return std::make_unique<HostBuffer>(type, count);
}

void HostCommunicator::do_put(Arrival how, Buffer& to, ElementRange range, const Buffer& from,
                              ElementCount begin, Stream /*stream*/) {
  const auto into = on_host(to).bytes(range);
  const auto arrived = on_host(from).bytes({begin, range.count});
  if (how == Arrival::reduce) return add(to.type(), into, arrived);
  std::ranges::copy(arrived, into.begin());
}

EventPtr HostCommunicator::do_compute(Seconds start, Seconds duration) {
  return std::make_unique<TimedWait>(start + duration);
}

}  // namespace paceline::real

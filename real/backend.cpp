#include "real/backend.h"

#include "models/contract.h"
#include "real/errors.h"

namespace paceline::real {
namespace {

bool is_inside(const Buffer& buffer, ElementRange range) {
  return range.begin <= buffer.count() && range.count <= buffer.count() - range.begin;
}

}  // namespace

DataType gradient_type(ElementSize size) {
  switch (size.value()) {
    case 2: return DataType::float16;
    case 4: return DataType::float32;
    case 8: return DataType::float64;
    default:
      throw UsageError("no type of " + std::to_string(size.value()) +
                       " bytes is sent by the backends");
  }
}

void Buffer::write(ElementRange range, std::span<const std::byte> host) {
  PACELINE_EXPECTS(is_inside(*this, range));
  PACELINE_EXPECTS((range.count * element_size(type_)).value() == host.size());
  do_write((range.begin * element_size(type_)).value(), host);
}

void Buffer::read(ElementRange range, std::span<std::byte> host) const {
  PACELINE_EXPECTS(is_inside(*this, range));
  PACELINE_EXPECTS((range.count * element_size(type_)).value() == host.size());
  do_read((range.begin * element_size(type_)).value(), host);
}

void Event::wait() {
  if (done_) return;
  do_wait();
  done_ = true;
}

std::vector<EventPtr> Communicator::post(std::span<const Message> messages, Stream stream) {
  PACELINE_EXPECTS(stream < streams_max);
  for (const Message& message : messages) {
    PACELINE_EXPECTS(message.buffer != nullptr && is_inside(*message.buffer, message.range));
    PACELINE_EXPECTS(message.range.count > ElementCount(0));
    PACELINE_EXPECTS(message.peer.value() < size_.value() && message.peer != rank_);
  }
  if (messages.empty()) return {};
  auto events = do_post(messages, stream);
  PACELINE_EXPECTS(events.size() == messages.size());
  return events;
}

void Communicator::put(Arrival how, Buffer& to, ElementRange range, const Buffer& from,
                       ElementCount begin, Stream stream) {
  PACELINE_EXPECTS(to.type() == from.type());
  PACELINE_EXPECTS(is_inside(to, range) && is_inside(from, {begin, range.count}));
  if (range.count > ElementCount(0)) do_put(how, to, range, from, begin, stream);
}

void Communicator::finish(Stream stream) {
  PACELINE_EXPECTS(in_order());
  do_finish(stream);
}

EventPtr Communicator::do_native(const NativeCall& /*call*/) {
  PACELINE_UNREACHABLE("this backend has no collectives of its own");
}

EventPtr Communicator::native(const NativeCall& call) {
  PACELINE_EXPECTS(has_native(call.collective));
  PACELINE_EXPECTS(call.buffer != nullptr && call.stream < streams_max);
  PACELINE_EXPECTS(call.root.value() < size_.value());
  const std::uint64_t halves = call.collective == collectives::Collective::all_to_all ? 2 : 1;
  PACELINE_EXPECTS(is_inside(*call.buffer, {ElementCount(0), call.count * halves}));
  if (call.input != nullptr) {
    PACELINE_EXPECTS(has_native_from(call.collective) && call.input != call.buffer);
    PACELINE_EXPECTS(call.input->type() == call.buffer->type());
    PACELINE_EXPECTS(is_inside(*call.input, {ElementCount(0), call.count}));
  }
  return do_native(call);
}

EventPtr Communicator::compute(Seconds start, Seconds duration) {
  PACELINE_EXPECTS(duration >= Seconds(0));
  return do_compute(start, duration);
}

}  // namespace paceline::real

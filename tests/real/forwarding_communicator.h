#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "real/backend.h"

namespace paceline::test {

// Does all that another communicator does. Tests change what they are about.
class ForwardingCommunicator : public real::Communicator {
 public:
  explicit ForwardingCommunicator(std::unique_ptr<real::Communicator> inner)
      : Communicator(inner->rank(), inner->size()), inner_(std::move(inner)) {}

 protected:
  std::unique_ptr<real::Buffer> allocate(DataType type, ElementCount count) override {
    return inner_->allocate(type, count);
  }
  std::vector<real::EventPtr> do_post(std::span<const real::Message> messages,
                                      real::Stream stream) override {
    return inner_->post(messages, stream);
  }
  void do_put(real::Arrival how, real::Buffer& to, real::ElementRange range,
              const real::Buffer& from, ElementCount begin, real::Stream stream) override {
    inner_->put(how, to, range, from, begin, stream);
  }
  bool in_order() const override { return inner_->in_order(); }
  void do_finish(real::Stream stream) override { inner_->finish(stream); }
  Bytes piece() const override { return inner_->piece(); }
  bool sends_early() const override { return inner_->sends_early(); }
  bool has_native(collectives::Collective collective) const override {
    return inner_->has_native(collective);
  }
  real::EventPtr do_native(const real::NativeCall& call) override { return inner_->native(call); }
  real::EventPtr do_compute(Seconds start, Seconds duration) override {
    return inner_->compute(start, duration);
  }

 private:
  std::unique_ptr<real::Communicator> inner_;
};

}  // namespace paceline::test

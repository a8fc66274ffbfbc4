#pragma once

#include <map>
#include <mutex>
#include <optional>

#include "scenarios/prepare/resolve.h"
#include "sim/folded/call_form.h"

namespace paceline {

// What calls take alone on clusters that differ in numbers of links only. Any thread may ask.
class CallForms {
 public:
  // Of a point's step, or others that are alike but for links and for what calls they have.
  CallForms(const PreparedPoint& prepared, const sim::LinkNumbers& least,
            const sim::LinkNumbers& most);

  // Precondition: the call is simulated. nullopt: another thread asks for the same one, and `waits`
  // is not set. Throws sim::NotSimulated.
  [[nodiscard]] std::optional<sim::CallTime> time(const training::CollectiveCall& call,
                                                  const sim::LinkNumbers& at, bool waits);

 private:
  struct Entry {
    std::mutex mutex;
    sim::CallForm form;
    Entry(const sim::CallDomain& domain, const training::CollectiveCall& call)
        : form(domain, call) {}
  };

  Entry& entry_of(const training::CollectiveCall& call);

  const sim::CallDomain domain_;
  std::mutex mutex_;
  std::map<training::CollectiveCall, Entry> entries_;
};

}  // namespace paceline

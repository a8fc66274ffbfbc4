#pragma once

#include <map>
#include <mutex>
#include <optional>

#include "models/folding/call_form.h"
#include "scenarios/prepare/resolve.h"

namespace paceline {

// What calls take alone on clusters that differ in numbers of links only. Any thread may ask.
class CallForms {
 public:
  // Of a point's step, or others that are alike but for links and for what calls they have.
  CallForms(const PreparedPoint& prepared, const folding::LinkNumbers& least,
            const folding::LinkNumbers& most);

  // Precondition: the call is simulated. nullopt: another thread asks for the same one, and `waits`
  // is not set. Throws folding::NotSimulated.
  [[nodiscard]] std::optional<folding::CallTime> time(const training::CollectiveCall& call,
                                                      const folding::LinkNumbers& at, bool waits);

 private:
  struct Entry {
    std::mutex mutex;
    folding::CallForm form;
    Entry(const folding::CallDomain& domain, const training::CollectiveCall& call)
        : form(domain, call) {}
  };

  Entry& entry_of(const training::CollectiveCall& call);

  const folding::CallDomain domain_;
  std::mutex mutex_;
  std::map<training::CollectiveCall, Entry> entries_;
};

}  // namespace paceline

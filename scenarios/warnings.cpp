#include "scenarios/warnings.h"

#include <mutex>
#include <set>
#include <utility>

namespace paceline {
namespace {

struct Heard {
  std::mutex mutex;
  WarningSink sink;
  std::set<std::string> said;
};

// Inputs are read at many places, some of them on threads of a sweep: what they say meets here.
Heard& heard() {
  static Heard only;
  return only;
}

}  // namespace

void hear_warnings(WarningSink sink) {
  const std::lock_guard lock(heard().mutex);
  heard().sink = std::move(sink);
  heard().said.clear();
}

void warn(const Location& where, const std::string& what, const std::string& hint) {
  const std::string line = InputError(where, what, hint).what();
  const std::lock_guard lock(heard().mutex);
  if (heard().sink && heard().said.insert(line).second) heard().sink(line);
}

}  // namespace paceline

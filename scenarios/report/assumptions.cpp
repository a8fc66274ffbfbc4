#include "scenarios/report/assumptions.h"

#include <ostream>
#include <set>

namespace paceline {

void write_assumptions(std::ostream& out, const std::vector<std::string>& assumptions) {
  std::set<std::string> written{""};
  for (const std::string& text : assumptions) {
    if (written.size() == 1 && !text.empty()) out << "\nassumed:\n";
    if (written.insert(text).second) out << "  " << text << '\n';
  }
}

}  // namespace paceline

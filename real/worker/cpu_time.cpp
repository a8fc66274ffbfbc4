#include "real/worker/cpu_time.h"

#include <fstream>
#include <string>

namespace paceline::real {

// The first line: "cpu user nice system idle iowait irq softirq steal guest guest_nice", where
// guest time is in user time already (proc(5)).
CpuTime::Ticks CpuTime::now() {
  std::ifstream file("/proc/stat");
  std::string word;
  file >> word;
  Ticks ticks;
  std::uint64_t value = 0;
  for (int column = 0; column < 8 && file >> value; ++column) {
    ticks.all += value;
    if (column == 3 || column == 4) ticks.idle += value;
  }
  return ticks;
}

void CpuTime::start() { begin_ = now(); }

void CpuTime::stop() {
  const Ticks end = now();
  sum_.idle += end.idle - begin_.idle;
  sum_.all += end.all - begin_.all;
}

double CpuTime::busy() const {
  if (sum_.all == 0) return 0;
  return 1.0 - static_cast<double>(sum_.idle) / static_cast<double>(sum_.all);
}

}  // namespace paceline::real

#pragma once

#include <cstdint>

namespace paceline::real {

// How busy the CPUs of this machine are, all together, between start() and stop(): /proc/stat,
// which counts in ticks of 10 ms. Everything that runs on the machine counts, builds too. Ticks are
// samples: beside the scheduler's exact times (cpuacct.usage of a cgroup), over 700 half seconds of
// 13 to 100 % load, at most 0.13 off, and 0.04 where the load is above 0.9.
class CpuTime {
 public:
  void start();
  void stop();
  // The busy part of all such intervals so far, 0..1; 0 where the machine does not say.
  [[nodiscard]] double busy() const;

 private:
  struct Ticks {
    std::uint64_t idle = 0, all = 0;
  };
  [[nodiscard]] static Ticks now();

  Ticks begin_, sum_;
};

}  // namespace paceline::real

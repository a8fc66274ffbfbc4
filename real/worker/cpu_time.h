#pragma once

#include <cstdint>

namespace paceline::real {

// How busy the CPUs of this machine are, all together, between start() and stop(): /proc/stat,
// which counts in ticks of 10 ms.
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

// Makes ranges, for nvtx/range_test.cpp. With an argument: times that many of them instead.

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "real/nvtx/range.h"

using paceline::Bytes;
using paceline::real::nvtx::Range;

int main(int argc, char** argv) {
  if (argc > 1) {
    const std::string name = "bucket 0";
    const long count = std::atol(argv[1]);
    const auto start = std::chrono::steady_clock::now();
    for (long i = 0; i < count; ++i) const Range range(name, {0, Bytes(1), "ring"});
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
    std::printf("%.3f\n", took.count() / static_cast<double>(count));
    return 0;
  }
  std::printf("%d\n", paceline::real::nvtx::is_listened_to() ? 1 : 0);
  Range first("bucket 0", {0, Bytes(26'214'400), "ring"});
  Range second("bucket 1", {1, Bytes(7'000'000'000), "native"});
  std::thread([&first] { first.end(); }).join();
  Range third("bucket 2", {2, Bytes(4), "ring"});
  second.end();
  second.end();
}

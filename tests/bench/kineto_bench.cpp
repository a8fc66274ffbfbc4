// How fast traces of PyTorch's profiler are read: bytes of text a second, on one core.
//
//   kineto_bench                    a text made here
//   kineto_bench trace.json...      these files, unpacked

#include <benchmark/benchmark.h>

#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>

#include "traces/kineto/kineto.h"

namespace {

// An operation, its launch, the arrow between them, and the kernel: what most of a trace is.
std::string made_text(std::uint64_t kernels) {
  std::string text = R"({"schemaVersion": 1, "traceEvents": [)";
  for (std::uint64_t i = 0; i < kernels; ++i) {
    const std::string number = std::to_string(i), at = std::to_string(4203669603000 + 10 * i);
    text += R"({"ph": "X", "cat": "cpu_op", "name": "aten::convolution_backward", "pid": 9, )"
            R"("tid": 9, "ts": )" +
            at + R"(.125, "dur": 9.500, "args": {"External id": )" + number +
            R"(, "Record function id": 4, "Input Dims": [[64, 256, 56, 56], [64, 64, 1, 1]], )"
            R"("Input type": ["float", "float"], "Ev Idx": 7}},)"
            "\n"
            R"({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, )"
            R"("tid": 9, "ts": )" +
            at + R"(.250, "dur": 5.000, "args": {"External id": )" + number +
            R"(, "cbid": 211, "correlation": )" + number +
            "}},\n"
            R"({"ph": "s", "id": )" +
            number + R"(, "pid": 9, "tid": 9, "ts": )" + at +
            R"(.250, "cat": "ac2g", "name": "ac2g"},)"
            "\n"
            R"({"ph": "X", "cat": "kernel", "name": "void at::native::vectorized_elementwise_)"
            R"(kernel<4, at::native::FillFunctor<float>, at::detail::Array<char*, 1> >", )"
            R"("pid": 0, "tid": 7, "ts": )" +
            at + R"(.500, "dur": 7.125, "args": {"External id": )" + number +
            R"(, "queued": 0, "device": 0, "context": 1, "stream": 7, "correlation": )" + number +
            R"(, "registers per thread": 40, "shared memory": 400, "grid": [512, 1, 1], )"
            R"("block": [512, 1, 1]}},)"
            "\n";
  }
  return text + R"({"ph": "M"}]})";
}

void time_reading(benchmark::State& state, const std::string& text) {
  for (auto _ : state) benchmark::DoNotOptimize(paceline::traces::read_kineto(text));
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (argc < 2) benchmark::RegisterBenchmark("made here", time_reading, made_text(100'000));
  for (int i = 1; i < argc; ++i) {
    std::ifstream in(argv[i], std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    benchmark::RegisterBenchmark(argv[i], time_reading, text);
  }
  benchmark::RunSpecifiedBenchmarks();
}

// Lines between paceline and its executors: every text is a point, a reply, progress or throws
// std::runtime_error; and what was read is written and read again as the same.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>

#include "traces/json/protocol.h"

namespace {

using paceline::traces::to_line;

template <class Read>
void round_trip(std::string_view text, Read read) {
  std::string once;
  try {
    once = to_line(read(text));
  } catch (const std::runtime_error&) {
    return;
  }
  if (to_line(read(once)) != once) {
    std::fputs("a line changes when it is read and written again\n", stderr);
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  round_trip(text, paceline::traces::point_from_line);
  // A result of a program of two operations.
  round_trip(text, [](std::string_view line) {
    paceline::training::StepProgram program = paceline::training::one_call_program(
        {paceline::collectives::Collective::all_reduce, {}, {}});
    program.operations.push_back(program.operations.front());
    return paceline::traces::reply_from_line(line, program);
  });
  round_trip(text, [](std::string_view line) {
    const auto progress = paceline::traces::progress_from_line(line);
    if (!progress) throw std::runtime_error("another line");
    return *progress;
  });
  return 0;
}

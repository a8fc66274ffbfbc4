#include "traces/archive/input.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <map>
#include <mutex>
#include <system_error>
#include <utility>

#include "models/text/number.h"

namespace paceline::traces {
namespace {

[[noreturn]] void throw_errno() { throw std::system_error(errno, std::generic_category()); }

using Identity = std::pair<dev_t, ino_t>;

// Streams that have ended. They stay open, so that nothing else gets their numbers.
struct EndedStreams {
  struct Stream {
    std::unique_ptr<Input> input;
    std::shared_ptr<const std::string> bytes;
  };
  std::mutex mutex;
  std::map<Identity, Stream> all;
};

EndedStreams& ended_streams() {
  static EndedStreams streams;
  return streams;
}

bool is_regular(int number) {
  struct stat found {};
  return ::fstat(number, &found) == 0 && S_ISREG(found.st_mode);
}

Identity identity_of_open(int number) {
  struct stat found {};
  if (::fstat(number, &found) != 0) throw_errno();
  return {found.st_dev, found.st_ino};
}

}  // namespace

std::optional<std::chrono::seconds> silence_allowed() {
  const char* const given = std::getenv(silence_variable);
  if (given == nullptr || *given == '\0') return silence_most;
  constexpr std::uint32_t seconds_most = 1'000'000;  // poll counts milliseconds in 31 bits
  const auto seconds = number_of<std::uint32_t>(given);
  if (!seconds || *seconds == 0 || *seconds > seconds_most) return std::nullopt;
  return std::chrono::seconds(*seconds);
}

std::string name_of_input(const std::string& path) {
  return path == standard_input ? "standard input" : path;
}

Input::Input(const std::string& path) {
  // A file that standard input is has a place of its own in each who reads it.
  const bool is_standard = path == standard_input,
             is_file = is_standard && is_regular(STDIN_FILENO);
  is_own_ = !is_standard || is_file;
  const char* const place = is_file ? "/proc/self/fd/0" : path.c_str();
  // Without O_NONBLOCK a named pipe is open when somebody writes to it, which may be never.
  number_ = is_own_ ? ::open(place, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : STDIN_FILENO;
  if (number_ < 0) throw_errno();
  struct stat found {};
  if (::fstat(number_, &found) != 0) throw_errno();  // of what is not ours
  if (S_ISREG(found.st_mode)) size_ = static_cast<std::uint64_t>(found.st_size);
  struct stat standard {};
  is_terminal_ = ::isatty(number_) == 1 && ::fstat(STDIN_FILENO, &standard) == 0 &&
                 standard.st_rdev == found.st_rdev;
}

Input::~Input() {
  if (is_own_ && number_ >= 0) ::close(number_);
}

// A person who types at standard input has no time limit. Another terminal has nobody at it, and so
// has the limit of a file.
void Input::wait() const {
  if (size_) return;
  const std::chrono::seconds most = silence_allowed().value_or(silence_most);
  pollfd waited{number_, POLLIN, 0};
  const int ready = ::poll(
      &waited, 1, is_terminal_ ? -1 : static_cast<int>(std::chrono::milliseconds(most).count()));
  if (ready == 0) {
    throw SilentInput("sent nothing for " + std::to_string(most.count()) + " s");
  }
  if (ready < 0 && errno != EINTR) throw_errno();
}

std::size_t Input::read(char* into, std::size_t most) const {
  while (true) {
    wait();
    const ssize_t count = ::read(number_, into, most);
    if (count >= 0) return static_cast<std::size_t>(count);
    if (errno != EINTR && errno != EAGAIN) throw_errno();
  }
}

std::shared_ptr<const std::string> bytes_of_stream(
    std::unique_ptr<Input> input, std::uint64_t most,
    const std::function<bool(const std::string&)>& goes_on) {
  const Identity identity = identity_of_open(input->number());
  EndedStreams& ended = ended_streams();
  const std::lock_guard lock(ended.mutex);
  if (const auto found = ended.all.find(identity); found != ended.all.end()) {
    return found->second.bytes;
  }
  constexpr std::size_t block = std::size_t{1} << 20;
  auto bytes = std::make_shared<std::string>();
  bool is_judged = false;
  while (bytes->size() <= most) {
    const std::size_t before = bytes->size();
    bytes->resize(before + std::min<std::uint64_t>(block, most + 1 - before));
    const std::size_t count = input->read(bytes->data() + before, bytes->size() - before);
    bytes->resize(before + count);
    if (count == 0) {
      ended.all.emplace(identity, EndedStreams::Stream{std::move(input), bytes});
      break;
    }
    if (is_judged || bytes->size() < block) continue;
    is_judged = true;
    if (!goes_on(*bytes)) break;
  }
  return bytes;
}

}  // namespace paceline::traces

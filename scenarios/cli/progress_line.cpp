#include "scenarios/cli/progress_line.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>

#include "scenarios/cli/plain_output.h"

namespace paceline::cli {
namespace {

using Clock = std::chrono::steady_clock;

// The last column stays free: a terminal may go to the next line from it.
std::size_t width_of_errors() {
  constexpr std::size_t usual = 80;
  winsize window{};
  const bool is_known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0;
  return (is_known ? window.ws_col : usual) - 1;
}

constexpr const char* erased = "\r\033[K";

}  // namespace

std::string progress_text(const Progress& progress, Seconds since, std::size_t width) {
  const std::string all = progress.all ? fmt::format("/{}", *progress.all) : "";
  std::string text = fmt::format("{}{} {}", progress.done, all, progress.of);
  if (!progress.pace.empty()) text += ", " + progress.pace;
  if (!progress.doing.empty()) {
    const std::string at = progress.at.empty() ? "" : ", " + progress.at;
    text += fmt::format("; {}{}: {:.0f}s", without_controls(progress.doing), at, since.value());
    if (progress.about) text += fmt::format(" of about {:.0f}s", progress.about->value());
  }
  if (text.size() > width) text.resize(width);
  return text;
}

ProgressLine::ProgressLine() : since_(Clock::now()), thread_([this] { run(); }) {}

ProgressLine::~ProgressLine() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_one();
  thread_.join();
  tell({.is_over = true});
}

void ProgressLine::tell(const Progress& progress) {
  const std::lock_guard lock(mutex_);
  if (progress.doing != progress_.doing) since_ = Clock::now();
  progress_ = progress;
  show();
}

void ProgressLine::run() {
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, std::chrono::seconds(1), [&] { return is_over_; })) show();
}

void ProgressLine::show() {
  if (!progress_.is_over) {
    const std::chrono::duration<double> since = Clock::now() - since_;
    const std::string text = progress_text(progress_, Seconds(since.count()), width_of_errors());
    std::fputs((erased + text).c_str(), stderr);
  } else if (is_shown_) {
    std::fputs(erased, stderr);
  }
  is_shown_ = !progress_.is_over;
  std::fflush(stderr);
}

}  // namespace paceline::cli

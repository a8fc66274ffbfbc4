#include "scenarios/files/input_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <system_error>
#include <utility>

#include "models/units/parse.h"
#include "scenarios/errors.h"
#include "scenarios/files/files_in_use.h"
#include "scenarios/files/output_file.h"
#include "traces/archive/input.h"

namespace paceline::files {
namespace {

std::function<void(const std::string&)> tell_reading = [](const std::string&) {};

struct EndOfReading {
  ~EndOfReading() { tell_reading(""); }
};

bool begins_text(const std::string& text) { return text.find('\0') == std::string::npos; }

// All of a regular file; its first block where that is no text, or all is larger.
std::string text_of(const traces::Input& input, std::size_t bytes_max) {
  constexpr std::size_t block = std::size_t{1} << 18;
  std::string text;
  while (text.size() <= bytes_max) {
    const std::size_t before = text.size();
    text.resize(before + block);
    text.resize(before + input.read(text.data() + before, block));
    const bool is_judged = before == 0 && (!begins_text(text) || *input.size() > bytes_max);
    if (text.size() == before || is_judged) break;
  }
  return text;
}

// Before the first byte: once, to whoever sits there and may not know that paceline waits.
void begin_reading(const std::string& path) {
  if (!traces::silence_allowed()) {
    throw InputError({traces::silence_variable}, "is not a number of seconds from 1 to 1000000",
                     "write 30, or unset it");
  }
  static std::once_flag said;
  if (path != traces::standard_input || ::isatty(STDIN_FILENO) != 1) return;
  std::call_once(said, [] { std::cerr << "reading standard input; end it with Ctrl-D\n"; });
}

[[noreturn]] void throw_silent(const std::string& name, const traces::SilentInput& error) {
  throw BackendError(
      name, std::string(error.what()) + "; " + traces::silence_variable + "=600 waits longer");
}

}  // namespace

std::string read_text(const std::string& path, std::size_t bytes_max) {
  const std::string name = traces::name_of_input(path);
  std::string text;
  bool is_larger = false;
  begin_reading(path);
  try {
    auto input = std::make_unique<traces::Input>(path);
    if (input->size()) {
      text = text_of(*input, bytes_max);
      is_larger = *input->size() > bytes_max && begins_text(text);
    } else {
      text = *traces::bytes_of_stream(std::move(input), bytes_max, begins_text);
    }
  } catch (const std::system_error& error) {
    throw_system_error(name, "cannot be read", error.code().value());
  } catch (const traces::SilentInput& error) {
    throw_silent(name, error);
  }
  if (is_larger || text.size() > bytes_max) {
    throw InputError({name}, "is larger than " + to_text(Bytes(bytes_max)), "");
  }
  note_input(path);
  return text;
}

void for_each_input(const std::string& path, const std::function<bool(std::string_view)>& is_wanted,
                    const std::function<void(traces::UnpackedFile)>& take,
                    const std::function<void(std::string, std::string)>& refuse) {
  begin_reading(path);
  const auto note_and_take = [&](traces::UnpackedFile file) {
    note_input(file.file);
    tell_reading(file.name);
    take(std::move(file));
  };
  const EndOfReading end;
  tell_reading(traces::name_of_input(path));
  try {
    traces::for_each_file(path, is_wanted, note_and_take, refuse);
  } catch (const traces::SilentInput& error) {
    throw_silent(traces::name_of_input(path), error);
  }
}

void hear_reading(std::function<void(const std::string&)> hear) { tell_reading = std::move(hear); }

void expect_each_once(std::span<const std::string> paths) {
  std::map<std::string, std::string> seen;
  for (const std::string& path : paths) {
    struct stat found {};
    const bool is_standard = path == traces::standard_input;
    const bool is_there = !is_standard && ::stat(path.c_str(), &found) == 0;
    if (is_there && !S_ISREG(found.st_mode) && !S_ISDIR(found.st_mode)) continue;  // a pipe goes on
    // What is not there is shipped, or nothing.
    const std::string identity =
        is_there ? std::to_string(found.st_dev) + "/" + std::to_string(found.st_ino) : path;
    const auto [first, is_new] = seen.try_emplace(identity, path);
    if (is_new) continue;
    const std::string other = first->second == path ? "" : ", as " + first->second + ", too";
    throw InputError({traces::name_of_input(path)}, "is given twice" + other,
                     "leave one of them out");
  }
}

void note_input(const std::string& path) { FilesInUse::of_process().add_input(path); }

}  // namespace paceline::files

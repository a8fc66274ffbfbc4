#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

// Files as a user names them, of which some never end and some never say anything.
namespace paceline::traces {

// Among paths, standard input; a file of this name is ./-
inline constexpr std::string_view standard_input = "-";

// What messages call a path.
[[nodiscard]] std::string name_of_input(const std::string& path);

// How long anything but a regular file or a terminal may send nothing: programs on many nodes print
// their first line sooner. A whole number of seconds in the variable replaces it.
inline constexpr std::chrono::seconds silence_most{30};
inline constexpr const char* silence_variable = "PACELINE_INPUT_SECONDS";
// As these have it; nullopt where the variable is no number of 1 to 1,000,000.
[[nodiscard]] std::optional<std::chrono::seconds> silence_allowed();

class SilentInput : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// An open file to read from. Opening one does not wait, for a writer of a named pipe either.
class Input {
 public:
  // Throws std::system_error.
  explicit Input(const std::string& path);
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;
  ~Input();

  // Bytes of a regular file; nullopt of what can be read only once: a pipe, a device, a terminal.
  [[nodiscard]] std::optional<std::uint64_t> size() const { return size_; }
  [[nodiscard]] int number() const { return number_; }  // of the open file

  // Up to `most` bytes; 0 at the end. Waits for the first of them. Throws std::system_error, and
  // SilentInput, which says for how long.
  [[nodiscard]] std::size_t read(char* into, std::size_t most) const;

 private:
  void wait() const;

  int number_ = -1;
  bool is_own_ = true, is_terminal_ = false;
  std::optional<std::uint64_t> size_;
};

// The bytes of an input that can be read only once: all, or one more than `most`, or the first (a
// MiB at least, or all) where `goes_on` says no to them. All are kept for whoever asks for the same
// input again. Throws as Input::read(). Thread-safe.
[[nodiscard]] std::shared_ptr<const std::string> bytes_of_stream(
    std::unique_ptr<Input> input, std::uint64_t most,
    const std::function<bool(const std::string& first)>& goes_on);

}  // namespace paceline::traces

#pragma once

#include <iosfwd>
#include <streambuf>
#include <string>
#include <string_view>

namespace paceline::cli {

// Characters that would steer a terminal, or turn the order of text around it, written as \u001b
// is: control characters but line feeds and tabs, and Unicode's marks of direction. Names of files,
// traces, logs and other hosts are anybody's.
//
// Text comes in pieces that may end within a character.
class ControlEscaper {
 public:
  [[nodiscard]] std::string take(std::string_view piece);
  // What is left of a character that was not finished.
  [[nodiscard]] std::string rest();

 private:
  std::string open_;  // the bytes of a character that may go on
};

[[nodiscard]] std::string without_controls(std::string_view text);

// While it lives, all that is written to the stream is.
class PlainOutput : private std::streambuf {
 public:
  explicit PlainOutput(std::ostream& out);
  PlainOutput(const PlainOutput&) = delete;
  PlainOutput& operator=(const PlainOutput&) = delete;
  ~PlainOutput() override;

  // The errno of the first write that failed; 0: none.
  [[nodiscard]] int error() const { return error_; }

 private:
  int_type overflow(int_type c) override;
  std::streamsize xsputn(const char* text, std::streamsize size) override;
  int sync() override;
  bool put(std::string_view text);
  bool noted(bool went_well);

  std::ostream& out_;
  std::streambuf* target_;
  ControlEscaper escaper_;
  int error_ = 0;
};

}  // namespace paceline::cli

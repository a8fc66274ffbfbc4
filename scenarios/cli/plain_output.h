#pragma once

#include <iosfwd>
#include <streambuf>
#include <string_view>

#include "models/text/plain_text.h"

namespace paceline::cli {

// While it lives, all that is written to the stream is.
class PlainOutput : private std::streambuf {
 public:
  explicit PlainOutput(std::ostream& out);
  PlainOutput(const PlainOutput&) = delete;
  PlainOutput& operator=(const PlainOutput&) = delete;
  ~PlainOutput() override;

  // Where text goes that is not to be escaped: in order with what the stream takes.
  [[nodiscard]] std::streambuf* unescaped() const { return target_; }
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

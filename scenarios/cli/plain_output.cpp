#include "scenarios/cli/plain_output.h"

#include <cerrno>
#include <ostream>

namespace paceline::cli {

PlainOutput::PlainOutput(std::ostream& out) : out_(out), target_(out.rdbuf(this)) {}

PlainOutput::~PlainOutput() {
  (void)put(escaper_.rest());
  (void)target_->pubsync();
  out_.rdbuf(target_);
}

bool PlainOutput::put(std::string_view text) {
  const auto size = static_cast<std::streamsize>(text.size());
  return noted(target_->sputn(text.data(), size) == size);
}

bool PlainOutput::noted(bool went_well) {
  if (!went_well && error_ == 0) error_ = errno;
  return went_well;
}

PlainOutput::int_type PlainOutput::overflow(int_type c) {
  if (traits_type::eq_int_type(c, traits_type::eof())) return traits_type::not_eof(c);
  const char one = traits_type::to_char_type(c);
  return put(escaper_.take({&one, 1})) ? c : traits_type::eof();
}

std::streamsize PlainOutput::xsputn(const char* text, std::streamsize size) {
  return put(escaper_.take({text, static_cast<std::size_t>(size)})) ? size : 0;
}

int PlainOutput::sync() { return noted(target_->pubsync() == 0) ? 0 : -1; }

}  // namespace paceline::cli

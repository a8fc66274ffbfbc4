#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "traces/ping_pong/ping_pong.h"
#include "traces/text/lines.h"

// What the readers of ping-pongs share.
namespace paceline::traces {

// What "# ping_pong: network" says; nullopt for any other line. Throws FormatError where it names
// no place.
[[nodiscard]] std::optional<cost::LinkPlace> place_said(std::size_t number,
                                                        const std::vector<std::string_view>& words);

// The size of a message, which may be 0.
[[nodiscard]] inline std::optional<Bytes> message_size(std::string_view word) {
  return word == "0" ? std::optional(Bytes(0)) : measured_size(word);
}

// Gathers rows into tables. What was said of one holds for the next until something else is said.
class PingPongTables {
 public:
  // Takes the comment that says what lies between; whether the line is one.
  bool take_place(std::size_t number, const std::vector<std::string_view>& words);
  // A row, or why it is none.
  void take(std::size_t number, std::string_view size, std::string_view time, double unit_s);
  void skip(std::size_t number, std::string why);
  void close();  // what comes next belongs to another table
  // What comes next is another text.
  void forget() {
    close();
    open_.between.reset();
  }
  [[nodiscard]] bool has_rows() const { return !open_.rows.empty(); }

  // Throws FormatError when there are none.
  [[nodiscard]] std::vector<PingPong> tables() &&;

 private:
  std::vector<PingPong> tables_;
  PingPong open_;
};

}  // namespace paceline::traces

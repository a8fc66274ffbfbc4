#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "models/units/units.h"
#include "models/words.h"

namespace paceline::cost {

using paceline::to_text;

// Where a ping-pong was measured: inside a node, or over the network.
enum class LinkPlace : std::uint8_t { intra_node, network };

constexpr auto words_of(LinkPlace) {
  return words_up_to<LinkPlace::network>("intra_node", "network");
}

// The time of a message one way, half a round trip. The size may be 0.
struct LinkSample {
  Bytes size;
  Seconds time;
};

// A simulated link, on which a message takes latency + bytes / bandwidth.
struct LinkEstimate {
  Seconds latency;
  BytesPerSecond bandwidth;
  // Of (log latency, log bandwidth).
  std::array<std::array<double, 2>, 2> covariance{};

  [[nodiscard]] Seconds time(Bytes size) const { return latency + size / bandwidth; }
  // The ends of 90 % intervals.
  [[nodiscard]] std::pair<Seconds, Seconds> latency_range() const;
  [[nodiscard]] std::pair<BytesPerSecond, BytesPerSecond> bandwidth_range() const;
};

// The sizes that one protocol carries in startup + bytes x seconds_per_byte; one of the two may be
// below 0.
struct LinkPiece {
  Bytes up_to;  // the largest of its sizes
  Seconds startup;
  double seconds_per_byte = 0;
};

struct LinkFit {
  LinkEstimate estimate;
  std::vector<LinkPiece> pieces;    // by size; one where no switch of protocols shows
  std::vector<LinkSample> samples;  // one a size, by size: the median of its repetitions
  double deviation = 0;             // of a sample from the pieces, relative

  [[nodiscard]] Seconds time(Bytes size) const;  // of the pieces
  // By sample: the logarithm of measured over the pieces' time.
  [[nodiscard]] std::vector<double> residuals() const;
};

// Why no latency and bandwidth can be fitted, and what to do.
struct LinkFault {
  std::string what, hint;
};

inline constexpr std::size_t link_sizes_least = 6, link_sizes_most = 2000;

// Fits one to three straight pieces, so that a switch of protocols (from eager to rendezvous times
// jump and grow at another rate) spoils neither end: the latency is the startup of the piece with
// the smallest sizes, the bandwidth the inverse rate of that with the largest.
//
// Deviations are relative, with the long tails of Student's t with three degrees of freedom, so
// outliers count little (Lange, Little and Taylor, JASA 84, 1989). Protocols are assumed to switch
// at powers of two, and a piece to have three sizes or more; Schwarz's criterion (BIC) decides how
// many pieces there are. The covariance is robust too, and takes the switches as known.
//
// Faults: fewer than link_sizes_least or more than link_sizes_most sizes; smallest sizes that are
// mostly transfer, or largest that are mostly latency. Precondition: times above 0.
[[nodiscard]] std::variant<LinkFit, LinkFault> fit_link(const std::vector<LinkSample>& samples);

}  // namespace paceline::cost

#include "models/uncertain/quantities.h"

#include <cmath>

#include "models/contract.h"
#include "models/stats/normal.h"

namespace paceline::uncertain {
namespace {

template <LinkClass Class>
double& of_class(Priors& priors) {
  return priors.links[static_cast<std::size_t>(Class)];
}

template <double Priors::*Number>
double& number(Priors& priors) {
  return priors.*Number;
}

// Before: a tenth for links whose figures logs gave, half for PCIe, whose boxes differ by factors;
// a quarter to a third for what hosts move through TCP; what several GPUs cost each other 2 %; a
// gradient 20 us of a host, as 17 to 62 were seen on one. Judged, as no row is of them: EFA, twice
// as unsure as NVLink; what strategies cost that nobody measured, 0.3, in sight of ten steps of
// FSDP and ZeRO (tests/fixtures/questions). Hosts that are not told are of one of two classes that
// lie 0.61 apart on either side (models/cost/tcp_hosts.h).
constexpr KnownPrior table[] = {
    {"links: NVLink", 0.1, 0.1, true, of_class<LinkClass::nvlink>},
    {"links: PCIe with peers", 0.5, 0.5, true, of_class<LinkClass::pcie_peers>},
    {"links: PCIe through the host", 0.6, 0.6, true, of_class<LinkClass::pcie_staged>},
    {"links: RDMA", 0.15, 0.15, true, of_class<LinkClass::rdma>},
    {"links: EFA", 0.2, 0.2, false, of_class<LinkClass::efa>},
    {"links: TCP of own hosts", 0.25, 0.222, true, of_class<LinkClass::tcp_own>},
    {"links: TCP of virtual machines", 0.3, 0.267, true, of_class<LinkClass::tcp_virtual>},
    {"links: TCP of unknown hosts", 0.65, 0.65, false, of_class<LinkClass::tcp_unknown>},
    {"links: measured", 0.08, 0.08, true, of_class<LinkClass::measured>},
    {"links of a preset's boxes, of their spread", 1, 0.741, true, number<&Priors::boxes>},
    {"links: each doubling, of their class", 0.3, 0.36, true, number<&Priors::links_by_doubling>},
    {"links: each row, of their class", 0.3, 0.3, true, number<&Priors::links_of_row>},
    {"links: each row of virtual machines", 0.6, 0.444, true, number<&Priors::cloud_of_row>},
    {"wrapper", 0.02, 0.024, true, number<&Priors::wrapper>},
    {"wrapper: each doubling of ranks", 0.008, 0.008, true, number<&Priors::wrapper_by_doubling>},
    {"wrapper of unmeasured strategies", 0.3, 0.3, false, number<&Priors::unmeasured_wrapper>},
    {"host: a gradient, 10 us", 2, 2, true, number<&Priors::host>},
    {"overlap over NVLink and RDMA", 0.05, 0.0667, true, number<&Priors::overlap_fast>},
    {"overlap over PCIe and TCP", 0.3, 0.3, true, number<&Priors::overlap_slow>},
    {"each row", 0.016, 0.016, true, number<&Priors::row>},
};

Priors filled(double KnownPrior::*with) {
  Priors priors;
  for (const KnownPrior& row : table) row.at(priors) = row.*with;
  return priors;
}

}  // namespace

double student_90(double degrees) {
  PACELINE_EXPECTS(degrees >= 4);
  // Of 4 to 10 degrees; beyond, by Cornish and Fisher's expansion (Abramowitz and Stegun 26.7.5).
  constexpr double few[] = {2.132, 2.015, 1.943, 1.895, 1.860, 1.833, 1.812};
  const double above = degrees - 4;
  const auto whole = static_cast<std::size_t>(above);
  if (whole + 1 < std::size(few)) {
    return std::lerp(few[whole], few[whole + 1], above - static_cast<double>(whole));
  }
  const double z = stats::normal_90;
  const double cube = z * z * z;
  return z + (cube + z) / (4 * degrees) +
         (5 * cube * z * z + 16 * cube + 3 * z) / (96 * degrees * degrees);
}

double student_end(double outside) {
  static_assert(freedom == 4);
  PACELINE_EXPECTS(outside > 0 && outside < 1);
  const double root = std::sqrt(outside * (2 - outside));  // of 4 p (1 - p), p = 1 - outside / 2
  return 2 * std::sqrt(std::cos(std::acos(root) / 3) / root - 1);
}

std::span<const KnownPrior> known_priors_table() { return table; }

const Priors& known_priors() {
  static const Priors known = filled(&KnownPrior::value);
  return known;
}

const Priors& priors_before() {
  static const Priors before = filled(&KnownPrior::before);
  return before;
}

}  // namespace paceline::uncertain

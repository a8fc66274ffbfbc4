#include "models/uncertain/quantities.h"

#include "models/stats/student.h"

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
// lie 0.61 apart on either side (models/cost/tcp_hosts.h). Sums in host memory: as PCIe through it.
constexpr KnownPrior table[] = {
    {"links: NVLink", false, 0.1, 0.1, true, of_class<LinkClass::nvlink>},
    {"links: PCIe with peers", false, 0.5, 0.5, true, of_class<LinkClass::pcie_peers>},
    {"links: PCIe through the host", false, 0.6, 0.6, true, of_class<LinkClass::pcie_staged>},
    {"links: RDMA", false, 0.15, 0.15, true, of_class<LinkClass::rdma>},
    {"links: EFA", false, 0.2, 0.2, false, of_class<LinkClass::efa>},
    {"links: TCP of own hosts", false, 0.25, 0.25, true, of_class<LinkClass::tcp_own>},
    {"links: TCP of virtual machines", false, 0.3, 0.25, true, of_class<LinkClass::tcp_virtual>},
    {"links: TCP of unknown hosts", false, 0.65, 0.65, false, of_class<LinkClass::tcp_unknown>},
    {"links: sums in host memory", false, 0.6, 0.5, true, of_class<LinkClass::host_sums>},
    {"links: measured", false, 0.08, 0.08, true, of_class<LinkClass::measured>},
    {"links of a preset's boxes, of their spread", false, 1, 0.667, true, number<&Priors::boxes>},
    {"links: each doubling, of their class", false, 0.3, 0.338, true,
     number<&Priors::links_by_doubling>},
    {"links: each row, of their class", false, 0.3, 0.222, true, number<&Priors::links_of_row>},
    {"links: each row of virtual machines", false, 0.6, 0.6, true, number<&Priors::cloud_of_row>},
    {"wrapper", false, 0.02, 0.0225, true, number<&Priors::wrapper>},
    {"wrapper: each doubling of ranks", false, 0.008, 0.0108, true,
     number<&Priors::wrapper_by_doubling>},
    {"wrapper of unmeasured strategies", false, 0.3, 0.3, false,
     number<&Priors::unmeasured_wrapper>},
    {"host: a gradient, 10 us", false, 2, 2, true, number<&Priors::host>},
    {"overlap over NVLink and RDMA", false, 0.05, 0.05, true, number<&Priors::overlap_fast>},
    {"overlap over PCIe and TCP", false, 0.3, 0.3, true, number<&Priors::overlap_slow>},
    {"each row", false, 0.016, 0.0142, true, number<&Priors::row>},
    {"centre: links through the host", true, 0, 0.235, true, number<&Priors::staged_links>},
    {"centre: overlap through the host", true, 0, 0.118, true, number<&Priors::staged_overlap>},
};

Priors filled(double KnownPrior::*with) {
  Priors priors;
  for (const KnownPrior& row : table) row.at(priors) = row.*with;
  return priors;
}

}  // namespace

double student_90(double degrees) { return stats::student_quantile(0.95, degrees); }

double student_end(double outside) { return stats::student_quantile(1 - outside / 2, freedom); }

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

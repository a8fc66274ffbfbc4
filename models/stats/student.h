#pragma once

namespace paceline::stats {

// Student's distribution with so many degrees of freedom, which need not be whole: the probability
// of less than `at`. From the incomplete beta function (Abramowitz and Stegun 26.7.1, 26.5.8); to
// 1e-10. Precondition: degrees above 0.
[[nodiscard]] double student_below(double at, double degrees);

// Its inverse, to 1e-9. Precondition: a probability above 0 and below 1.
[[nodiscard]] double student_quantile(double probability, double degrees);

}  // namespace paceline::stats

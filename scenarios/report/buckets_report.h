#pragma once

#include <iosfwd>
#include <vector>

#include "models/training/buckets.h"

namespace paceline {

void write_text(std::ostream& out, const std::vector<workload::ParameterTensor>& tensors,
                const std::vector<training::Bucket>& buckets);

// paceline.buckets/1
void write_json(std::ostream& out, const std::vector<workload::ParameterTensor>& tensors,
                const std::vector<training::Bucket>& buckets);

}  // namespace paceline

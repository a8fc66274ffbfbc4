#include "scenarios/report/buckets_report.h"

#include <fmt/ostream.h>

#include "models/text/json_writer.h"
#include "scenarios/text_table.h"

namespace paceline {

using training::Bucket, training::bucket_count, training::bucket_size;
using workload::ParameterTensor;

void write_text(std::ostream& out, const std::vector<ParameterTensor>& tensors,
                const std::vector<Bucket>& buckets) {
  TextTable table({"bucket", "tensors", "elements", "bytes", "first ready", "last ready"}, 0);
  ElementCount elements;
  Bytes bytes;
  for (std::size_t b = 0; b < buckets.size(); ++b) {
    const ElementCount count = bucket_count(tensors, buckets[b]);
    const Bytes size = bucket_size(tensors, buckets[b]);
    table.add({std::to_string(b), std::to_string(buckets[b].size()), std::to_string(count.value()),
               std::to_string(size.value()), tensors[buckets[b].front()].name,
               tensors[buckets[b].back()].name});
    elements += count;
    bytes += size;
  }
  table.write(out);
  fmt::print(out, "{} tensors, {} elements, {} bytes\n", tensors.size(), elements.value(),
             bytes.value());
}

void write_json(std::ostream& out, const std::vector<ParameterTensor>& tensors,
                const std::vector<Bucket>& buckets) {
  JsonWriter json(out);
  json.object([&] {
    json.put("schema", "paceline.buckets/1");
    json.put_list("buckets", buckets, [&](const Bucket& bucket) {
      json.object([&] {
        json.put("elements", bucket_count(tensors, bucket));
        json.put("size_bytes", bucket_size(tensors, bucket));
        json.put_list("tensors", bucket, [&](std::size_t i) { json.value(tensors[i].name); });
      });
    });
  });
}

}  // namespace paceline

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "traces/nsys/stats_tables.h"
#include "traces/pytorch/nccl_names.h"
#include "traces/run_record/readers.h"
#include "traces/text/lines.h"

namespace paceline::traces {
namespace {

using nsys::Report;
using nsys::StatsRow;
using Cell = RunRecord::Cell;

constexpr std::size_t kernels_listed = 40;
constexpr double count_most = 1e15;

struct Sum {
  std::uint64_t count = 0;
  Seconds time, longest, shortest;

  void add(const Sum& other) {
    shortest = count == 0 ? other.shortest : std::min(shortest, other.shortest);
    longest = std::max(longest, other.longest);
    count += other.count;
    time += other.time;
  }
  [[nodiscard]] Seconds average() const {
    return count == 0 ? Seconds() : time * (1.0 / static_cast<double>(count));
  }
};

using Sums = std::map<std::string, Sum>;

// Several tables of a kind are of several reports of nsys, and add up.
struct Taken {
  Sums sums;
  std::map<std::size_t, std::size_t> tables;  // rows by table
};

std::optional<Sum> sum_of(const StatsRow& row) {
  const auto count = row.number(row.header.report == Report::copies ? "count" : "instances");
  const auto time = row.time("total time");
  if (!count || !time || *count > count_most || *count < 1) return std::nullopt;
  const Seconds average = *time * (1.0 / *count);
  return Sum{static_cast<std::uint64_t>(*count), *time, row.time("max").value_or(average),
             row.time("min").value_or(average)};
}

// Before a range's name its domain, which mostly has none: ":train_step".
std::string name_of(const StatsRow& row) {
  switch (row.header.report) {
    case Report::ranges: {
      const std::string_view name = row.text("range");
      return std::string(name.starts_with(':') ? name.substr(1) : name);
    }
    case Report::copies:
    case Report::device_work: return std::string(row.text("operation"));
    default: return std::string(row.text("name"));
  }
}

class Statistics {
 public:
  bool take(const StatsRow& row) {
    const Report report = row.header.report;
    if (report == Report::device_trace || report == Report::range_trace) {
      has_traces_ = true;
      return true;
    }
    const auto sum = sum_of(row);
    const std::string name = name_of(row);
    if (!sum || name.empty()) return false;
    if (report == Report::device_work) {
      (name.starts_with("[CUDA mem") ? work_copies_ : work_kernels_)[name].add(*sum);
    }
    Taken& taken = taken_[report];
    taken.sums[name].add(*sum);
    ++taken.tables[row.table];
    return true;
  }

  [[nodiscard]] bool has_traces() const { return has_traces_; }
  [[nodiscard]] bool is_empty() const { return taken_.empty(); }

  // What a text tells twice is taken once.
  [[nodiscard]] const Sums& kernels() const {
    return sums_of(Report::kernels, sums_of(Report::kernels_by_grid, work_kernels_));
  }
  [[nodiscard]] const Sums& copies() const { return sums_of(Report::copies, work_copies_); }
  [[nodiscard]] const Sums& ranges() const { return sums_of(Report::ranges, no_ranges_); }
  [[nodiscard]] std::size_t most_tables() const {
    std::size_t most = 0;
    for (const auto& [report, taken] : taken_) {
      if (report != Report::ranges) most = std::max(most, taken.tables.size());
    }
    return most;
  }

 private:
  [[nodiscard]] const Sums& sums_of(Report report, const Sums& otherwise) const {
    const auto found = taken_.find(report);
    return found == taken_.end() ? otherwise : found->second.sums;
  }

  std::map<Report, Taken> taken_;
  Sums no_ranges_;
  Sums work_kernels_, work_copies_;  // of cuda_gpu_sum, which has both
  bool has_traces_ = false;
};

Sum total(const Sums& sums) {
  Sum all;
  for (const auto& [name, sum] : sums) all.add(sum);
  return all;
}

double share(Seconds part, Seconds all) { return all.value() > 0 ? part / all : 0; }

// Those of the most time first; `row_of` has a name and its sum.
template <class RowOf>
void add_table(RunRecord::Table table, const Sums& sums, std::size_t most, const RowOf& row_of,
               RunRecord& record) {
  std::vector<std::pair<std::string, Sum>> list(sums.begin(), sums.end());
  std::ranges::stable_sort(list, std::ranges::greater(),
                           [](const auto& one) { return one.second.time; });
  for (const auto& [name, sum] : list) {
    if (table.rows.size() == most) break;
    table.rows.push_back(row_of(name, sum));
  }
  record.add(std::move(table));
}

using Cells = std::vector<Cell>;

std::string name_of_collective(std::string_view kernel) {
  const std::string_view kind = pytorch::kernel_kind(kernel);
  const std::string algorithm = pytorch::algorithm_of(kernel);
  return shown(kind.empty() ? kernel.substr(0, kernel.find('(')) : kind) +
         (algorithm.empty() ? "" : " " + algorithm);
}

void add_kernels(const Statistics& statistics, RunRecord& record) {
  Sums collectives, others;
  for (const auto& [name, sum] : statistics.kernels()) {
    if (pytorch::is_collective_kernel(name)) {
      collectives[name_of_collective(name)].add(sum);
    } else {
      others[name].add(sum);
    }
  }
  const Sum communication = total(collectives), compute = total(others);
  const Seconds all = communication.time + compute.time;
  if (communication.count + compute.count == 0) return;
  record.facts.push_back({"kernels", communication.count + compute.count});
  record.facts.push_back({"time of kernels", all});
  record.facts.push_back({"compute", compute.time});
  record.facts.push_back({"communication", communication.time});
  record.facts.push_back({"communication, of all", share(communication.time, all)});
  add_table(
      {"communication, by kind of kernel",
       {"kernel", "calls", "time", "of all", "average", "shortest", "longest"}},
      collectives, RunRecord::rows_most,
      [&](const std::string& name, const Sum& sum) {
        return Cells{name,          sum.count,    sum.time,   share(sum.time, all),
                     sum.average(), sum.shortest, sum.longest};
      },
      record);
  std::string title = "compute, by kernel";
  if (others.size() > kernels_listed) {
    title +=
        ": the first " + std::to_string(kernels_listed) + " of " + std::to_string(others.size());
  }
  add_table(
      {title, {"calls", "time", "of all", "average", "kernel"}}, others, kernels_listed,
      [&](const std::string& name, const Sum& sum) {
        return Cells{sum.count, sum.time, share(sum.time, all), sum.average(), shown(name)};
      },
      record);
}

void add_list(const char* title, const char* column, const Sums& sums, RunRecord& record) {
  add_table(
      {title, {column, "calls", "time", "average", "shortest", "longest"}}, sums,
      RunRecord::rows_most,
      [](const std::string& name, const Sum& sum) {
        return Cells{shown(name), sum.count, sum.time, sum.average(), sum.shortest, sum.longest};
      },
      record);
}

void add_notes(const Statistics& statistics, const nsys::AroundTables& around, RunRecord& record) {
  if (!statistics.kernels().empty()) {
    record.notes.emplace_back(
        "sums of all that the report has, all its GPUs together; a kernel of NCCL's counts what it "
        "waits for other ranks");
    record.notes.emplace_back(
        "what of communication is behind compute sums do not tell: nsys export --type sqlite "
        "REPORT.nsys-rep, then paceline import REPORT.sqlite");
  }
  if (const std::size_t tables = statistics.most_tables(); tables > 1) {
    record.notes.push_back(std::to_string(tables) + " tables of one kind are added up");
  }
  if (statistics.has_traces()) {
    record.notes.emplace_back(
        "traces beside the sums are left out: paceline import reads them from a file of their own");
  }
  if (around.other_tables > 0) {
    record.notes.push_back(counted(around.other_tables, "table") + " of other reports left out");
  }
  if (around.broken_rows > 0) {
    record.notes.push_back(counted(around.broken_rows, "row") +
                           " left out that cannot be read, the first in line " +
                           std::to_string(around.first_broken_line));
  }
}

bool is_sum(Report report) {
  return report == Report::kernels || report == Report::kernels_by_grid ||
         report == Report::device_work || report == Report::copies || report == Report::ranges;
}

}  // namespace

bool is_nsys_statistics(std::string_view text) {
  text = searched(text);
  return contains(text, "Total Time") && nsys::has_stats_table(text, is_sum);
}

RunRecord read_nsys_statistics(std::string_view text) {
  Statistics statistics;
  const nsys::AroundTables around = nsys::read_stats_tables(
      plain_text(text), [&](const StatsRow& row) { return statistics.take(row); });
  if (statistics.is_empty()) {
    throw FormatError(around.first_broken_line, "has tables of nsys stats without a row of a sum",
                      "give nsys stats --format csv --report cuda_gpu_kern_sum REPORT.nsys-rep");
  }
  RunRecord record;
  record.title = "sums of nsys stats";
  add_kernels(statistics, record);
  const Sum copies = total(statistics.copies());
  if (copies.count > 0) record.facts.push_back({"copies and sets of memory", copies.time});
  add_list("copies and sets of memory", "operation", statistics.copies(), record);
  add_list("ranges of NVTX", "range", statistics.ranges(), record);
  add_notes(statistics, around, record);
  return record;
}

}  // namespace paceline::traces

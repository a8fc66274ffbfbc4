#include "scenarios/mpi/messages.h"

#include <mpi.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <set>
#include <thread>
#include <utility>

#include "models/text/json_writer.h"
#include "traces/json/decode.h"

namespace paceline {

constexpr auto fields_of(const ScenarioFile::Setting*) {
  using Setting = ScenarioFile::Setting;
  return Fields(field("path", &Setting::path), field("value", &Setting::value),
                field("is_of_several", &Setting::is_of_several),
                field("is_known", &Setting::is_known));
}

namespace sweep {

constexpr auto fields_of(const SweptFile*) {
  return Fields(field("path", &SweptFile::path), field("settings", &SweptFile::settings),
                field("sha256", &SweptFile::sha256), field("part", &SweptFile::part));
}
constexpr auto fields_of(const Job*) {
  return Fields(field("files", &Job::files), field("force", &Job::force));
}
constexpr auto fields_of(const Task*) {
  return Fields(field("file", &Task::file), field("point", &Task::point));
}

}  // namespace sweep
}  // namespace paceline

namespace paceline::mpi {

constexpr auto fields_of(const JobOfRank*) {
  return Fields(field("job", &JobOfRank::job), field("jobs", &JobOfRank::jobs));
}

struct RowText {
  sweep::Task task;
  std::string row;
};
constexpr auto fields_of(const RowText*) {
  return Fields(field("task", &RowText::task), field("row", &RowText::row));
}

struct Ranks::Sent {
  std::string text;
  MPI_Request request = MPI_REQUEST_NULL;
};

struct Ranks::Coming {
  Message message;
  MPI_Request request = MPI_REQUEST_NULL;
};

Ranks::Ranks() {
  int provided = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, &own_);
  MPI_Comm_size(MPI_COMM_WORLD, &count_);
}

Ranks::~Ranks() = default;

void Ranks::forget_sent() {
  std::erase_if(sent_, [](Sent& one) {
    int is_done = 0;
    return MPI_Test(&one.request, &is_done, MPI_STATUS_IGNORE) != MPI_SUCCESS || is_done != 0;
  });
}

void Ranks::send(int to, Kind kind, std::string text) {
  forget_sent();
  Sent& sent = sent_.emplace_back(Sent{std::move(text)});
  // To a rank that is gone it fails, or nothing happens: it is found by its silence.
  (void)MPI_Isend(sent.text.data(), static_cast<int>(sent.text.size()), MPI_BYTE, to,
                  static_cast<int>(kind), MPI_COMM_WORLD, &sent.request);
}

void Ranks::begin_to_receive() {
  while (true) {
    int is_there = 0, size = 0;
    MPI_Message handle = MPI_MESSAGE_NULL;
    MPI_Status status{};
    if (MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &is_there, &handle, &status) !=
            MPI_SUCCESS ||
        is_there == 0) {
      return;
    }
    MPI_Get_count(&status, MPI_BYTE, &size);
    Coming& coming = coming_.emplace_back();
    coming.message = {status.MPI_SOURCE, static_cast<Kind>(status.MPI_TAG),
                      std::string(static_cast<std::size_t>(size), '\0')};
    if (MPI_Imrecv(coming.message.text.data(), size, MPI_BYTE, &handle, &coming.request) !=
        MPI_SUCCESS) {
      coming_.pop_back();
    }
  }
}

std::optional<Message> Ranks::receive() {
  begin_to_receive();
  std::set<int> behind;  // senders of whom an earlier message is not whole
  for (auto next = coming_.begin(); next != coming_.end();) {
    const auto coming = next++;
    const int from = coming->message.from;
    if (behind.contains(from)) continue;
    int is_done = 0;
    if (MPI_Test(&coming->request, &is_done, MPI_STATUS_IGNORE) != MPI_SUCCESS) {
      coming_.erase(coming);  // its sender is gone
    } else if (is_done != 0) {
      Message message = std::move(coming->message);
      coming_.erase(coming);
      return message;
    } else {
      behind.insert(from);
    }
  }
  return std::nullopt;
}

void Ranks::end(bool all_are_there, int exit_code) {
  using namespace std::chrono_literals;
  for (int wait = 0; wait < 1000 && !sent_.empty(); ++wait) {
    forget_sent();
    std::this_thread::sleep_for(1ms);
  }
  if (all_are_there) {
    MPI_Finalize();
    return;
  }
  std::cout.flush();
  std::fflush(nullptr);
  std::_Exit(exit_code);
}

namespace {

template <class T>
std::string text_of(const T& value) {
  std::string text;
  JsonWriter(text).value(value);
  return text;
}

template <class T>
T read(const std::string& text) {
  return traces::decode<T>(traces::parse_json(text, ""));
}

}  // namespace

std::string to_text(const JobOfRank& job) { return text_of(job); }
JobOfRank job_from(const std::string& text) { return read<JobOfRank>(text); }
std::string to_text(const std::vector<sweep::Task>& tasks) { return text_of(tasks); }
std::vector<sweep::Task> tasks_from(const std::string& text) {
  return read<std::vector<sweep::Task>>(text);
}

std::string to_text(const std::vector<sweep::Done>& rows) {
  std::vector<RowText> texts;
  for (const auto& [task, row] : rows) texts.push_back({task, to_text(row)});
  return text_of(texts);
}

std::vector<sweep::Done> rows_from(const std::string& text) {
  std::vector<sweep::Done> rows;
  for (const RowText& one : read<std::vector<RowText>>(text)) {
    rows.push_back({one.task, sweep::row_from(one.row)});
  }
  return rows;
}

}  // namespace paceline::mpi

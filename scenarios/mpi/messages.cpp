#include "scenarios/mpi/messages.h"

#include <mpi.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>
#include <utility>

namespace paceline::mpi {

using nlohmann::json;

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

std::string to_text(const sweep::Job& job, std::size_t jobs) {
  json files = json::array();
  for (const auto& [path, settings, sha256, part] : job.files) {
    json all = json::array();
    for (const ScenarioFile::Setting& one : settings) {
      all.push_back({one.path, one.value, one.is_of_several, one.is_known});
    }
    files.push_back({path, std::move(all), sha256, part});
  }
  const json text{std::move(files), job.force, jobs};
  return text.dump(-1, ' ', false, json::error_handler_t::replace);
}

JobOfRank job_from(const std::string& text) {
  const json all = json::parse(text);
  JobOfRank made{{{}, all.at(1).get<bool>()}, all.at(2).get<std::size_t>()};
  for (const json& file : all.at(0)) {
    sweep::SweptFile swept{
        file.at(0).get<std::string>(), {}, file.at(2).get<std::string>(), file.at(3).get<double>()};
    for (const json& one : file.at(1)) {
      swept.settings.push_back({one.at(0).get<std::string>(), one.at(1).get<std::string>(),
                                one.at(2).get<bool>(), one.at(3).get<bool>()});
    }
    made.job.files.push_back(std::move(swept));
  }
  return made;
}

std::string to_text(std::span<const sweep::Task> tasks) {
  json all = json::array();
  for (const auto& [file, point] : tasks) all.push_back({file, point});
  return all.dump();
}

std::vector<sweep::Task> tasks_from(const std::string& text) {
  std::vector<sweep::Task> tasks;
  for (const json& one : json::parse(text)) {
    tasks.push_back({one.at(0).get<std::uint32_t>(), one.at(1).get<std::uint64_t>()});
  }
  return tasks;
}

std::string to_text(const std::vector<sweep::Done>& rows) {
  json all = json::array();
  for (const auto& [task, row] : rows) all.push_back({task.file, task.point, to_text(row)});
  return all.dump();
}

std::vector<sweep::Done> rows_from(const std::string& text) {
  std::vector<sweep::Done> rows;
  for (const json& one : json::parse(text)) {
    rows.push_back({{one.at(0).get<std::uint32_t>(), one.at(1).get<std::uint64_t>()},
                    sweep::row_from(one.at(2).get<std::string>())});
  }
  return rows;
}

}  // namespace paceline::mpi

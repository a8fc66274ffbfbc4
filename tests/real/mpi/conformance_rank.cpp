// One rank of the conformance suite on MPI: mpirun starts it as often as there are ranks.
//
//   conformance_rank ORDER TYPES LARGE COUNT...
//   conformance_rank silent | alone
//
// ORDER: world, or reversed, in which the run's ranks are not MPI's. TYPES: float32 or all. LARGE
// and COUNTs: elements, as a Suite has them. Faults go to stderr; the status is 1 when there are
// any. `silent`: rank 0 waits for a message that is never sent; `alone`: a run of one rank more
// than there are processes.

#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include "real/backends.h"
#include "tests/real/conformance/suite.h"

namespace paceline::test {
namespace {

// Of texts of at most 255 bytes, in the run's order.
class MpiMeeting : public real::Meeting {
 public:
  MpiMeeting(std::uint32_t ranks, bool reversed) : ranks_(ranks), reversed_(reversed) {}

  std::vector<std::string> all_gather(std::string text) override {
    constexpr std::size_t length = 256;
    text.resize(length);
    std::string all(length * ranks_, '\0');
    if (MPI_Allgather(text.data(), length, MPI_CHAR, all.data(), length, MPI_CHAR,
                      MPI_COMM_WORLD) != MPI_SUCCESS) {
      throw std::runtime_error("the ranks do not meet");
    }
    std::vector<std::string> said;
    for (std::size_t r = 0; r < ranks_; ++r) said.emplace_back(all.substr(r * length).c_str());
    if (reversed_) std::ranges::reverse(said);
    return said;
  }

 private:
  std::uint32_t ranks_;
  bool reversed_;
};

std::uint32_t number_in_environment(const char* name) {
  const char* text = std::getenv(name);
  if (text == nullptr) throw std::runtime_error("start this with mpirun");
  return static_cast<std::uint32_t>(std::stoul(text));
}

Suite suite_of(const std::vector<std::string>& arguments) {
  Suite suite{{DataType::float32}, {}, ElementCount(std::stoull(arguments.at(2)))};
  if (arguments.at(1) == "all") {
    suite.types = test::all_data_types();
  }
  for (std::size_t i = 3; i < arguments.size(); ++i) {
    suite.counts.emplace_back(std::stoull(arguments[i]));
  }
  return suite;
}

std::unique_ptr<real::Communicator> connect(bool reversed, std::uint32_t ranks, Seconds timeout,
                                            MpiMeeting& meeting) {
  const std::uint32_t place = number_in_environment("OMPI_COMM_WORLD_RANK");
  real::ConnectRequest request;
  request.rank = Rank(reversed ? ranks - 1 - place : place);
  request.size = RankCount(ranks);
  request.local_rank = request.rank.value();
  request.timeout = timeout;
  request.meeting = &meeting;
  return real::connect_mpi(request);
}

void wait_for_nothing_sent(real::Communicator& communicator, MpiMeeting& meeting) {
  if (communicator.rank() == Rank(0)) {
    constexpr ElementCount one(1);
    const auto buffer = communicator.allocate(DataType::float32, one);
    const real::Message message{
        real::Message::Kind::receive, Rank(1), buffer.get(), {ElementCount(0), one}};
    communicator.post({&message, 1}, 0).front()->wait();
  }
  (void)meeting.all_gather("");
}

std::vector<std::string> faults(const std::vector<std::string>& arguments) {
  const std::uint32_t processes = number_in_environment("OMPI_COMM_WORLD_SIZE");
  const std::string& order = arguments.at(0);
  MpiMeeting meeting(processes, order == "reversed");
  if (order == "alone") (void)connect(false, processes + 1, Seconds(60), meeting);
  if (order == "silent")
    wait_for_nothing_sent(*connect(false, processes, Seconds(0.2), meeting), meeting);
  const auto communicator = connect(order == "reversed", processes, Seconds(60), meeting);
  return conformance_faults(*communicator, suite_of(arguments));
}

}  // namespace
}  // namespace paceline::test

int main(int argc, char** argv) {
  try {
    const auto faults = paceline::test::faults({argv + 1, argv + argc});
    for (const std::string& fault : faults) std::fprintf(stderr, "%s\n", fault.c_str());
    return faults.empty() ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    std::fflush(stderr);
    std::_Exit(1);  // others may never come to the end of MPI
  }
}

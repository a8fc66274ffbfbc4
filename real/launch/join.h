#pragma once

#include <string>
#include <vector>

#include "real/launch/link.h"
#include "real/launch/rank_identity.h"
#include "real/launch/rendezvous.h"

namespace paceline::real {

// A rank at the other end of a link.
struct Peer {
  Rank rank;
  std::string who;  // rank 3 (pid 4711 on host)
  Link link;
};

// The file in which rank 0 published its address; removed at the end if it is still this one.
class PublishedFile {
 public:
  PublishedFile() = default;
  PublishedFile(std::string path, std::string text);  // writes it; throws BackendError
  PublishedFile(PublishedFile&& other) noexcept;
  PublishedFile& operator=(PublishedFile&& other) noexcept;
  PublishedFile(const PublishedFile&) = delete;
  PublishedFile& operator=(const PublishedFile&) = delete;
  ~PublishedFile();

 private:
  std::string path_, text_;
};

// What a rank has once all have come.
struct Joined {
  std::vector<Peer> peers;         // of rank 0: ranks 1, 2, ...; of another: rank 0
  std::vector<std::string> hosts;  // of every rank
  std::string address;             // of this machine, over which the others are reached
  bool same_machine = true;        // as rank 0: one clock
  PublishedFile file;
};

// Every rank calls it, and all return, or all that found rank 0 throw BackendError with one line.
// Takes over the rendezvous' listener.
[[nodiscard]] Joined join_group(const RankIdentity& identity, const Rendezvous& rendezvous,
                                Seconds connect);

}  // namespace paceline::real

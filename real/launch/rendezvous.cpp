#include "real/launch/rendezvous.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <sstream>
#include <tuple>
#include <utility>

#include "models/text/number.h"
#include "real/errors.h"
#include "real/launch/socket.h"

namespace paceline::real {
namespace {

constexpr std::uint16_t torch_port = 29500;  // torch.distributed's default

std::optional<std::uint16_t> parse_port(std::string_view text) {
  const auto port = number_of<std::uint16_t>(text);
  return port != 0 ? port : std::nullopt;
}

std::uint16_t port_from(const Environment& environment) {
  const auto text = environment("MASTER_PORT");
  if (!text) return torch_port;
  const auto port = parse_port(*text);
  if (!port) {
    throw UsageError(
        fmt::format("MASTER_PORT={} is not a port; write a number from 1 to 65535", *text));
  }
  const auto has_agent = environment("TORCHELASTIC_USE_AGENT_STORE");
  if (has_agent != "True" && has_agent != "true" && has_agent != "1") return *port;
  constexpr std::uint16_t last = 65535;
  return static_cast<std::uint16_t>(*port == last ? last - 1 : *port + 1);
}

// The host of rank 0, and the variable that says so.
std::pair<std::string, std::string> host_from(const Environment& environment) {
  if (const auto host = environment("MASTER_ADDR")) return {*host, "MASTER_ADDR"};
  for (const char* name : {"SLURM_STEP_NODELIST", "SLURM_NODELIST"}) {
    const std::string host = first_host(environment(name).value_or(""));
    if (!host.empty()) return {host, name};
  }
  constexpr const char* launch_node = "SLURM_LAUNCH_NODE_IPADDR";
  if (const auto host = environment(launch_node)) return {*host, launch_node};
  const auto size = environment("OMPI_COMM_WORLD_SIZE");
  if (size && size == environment("OMPI_COMM_WORLD_LOCAL_SIZE")) {
    return {"127.0.0.1", "MASTER_ADDR"};
  }
  throw UsageError(
      "env:// needs MASTER_ADDR, which is not set; set it to the host name of rank 0, or meet at "
      "tcp://host:port or file:///path");
}

void set_from_host_port(const std::string& url, std::string_view text, Rendezvous& rendezvous) {
  const auto fail = [&](const char* why) {
    throw UsageError(
        fmt::format("{} {}; write tcp://host:port, an IPv6 address in brackets: "
                    "tcp://[::1]:29500",
                    url, why));
  };
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos || text.ends_with(']')) fail("has no port");
  std::string_view host = text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    fail("has an IPv6 address without brackets");
  }
  if (host.empty()) fail("has no host");
  const auto port = parse_port(text.substr(colon + 1));
  if (!port) fail("has no port from 1 to 65535");
  rendezvous.host = host;
  rendezvous.port = port.value_or(0);
  rendezvous.host_source = rendezvous.port_source = "the rendezvous";
}

// Gloo takes names, NCCL beginnings of names, `=name` for one exactly, `^name` for all but it.
std::vector<std::string> interfaces_from(const Environment& environment) {
  for (const char* variable : {"GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME"}) {
    const auto list = environment(variable);
    if (!list || list->starts_with('^')) continue;
    std::istringstream all(list->substr(list->starts_with('=') ? 1 : 0));
    std::vector<std::string> names;
    for (std::string name; std::getline(all, name, ',');) {
      if (!name.empty()) names.push_back(name);
    }
    return names;
  }
  return {};
}

int listener_from(const Environment& environment) {
  const auto text = environment("PACELINE_CONTROL_FD");
  if (!text) return -1;
  if (const auto file = number_of<int>(*text); file && *file >= 0) return *file;
  throw UsageError(
      fmt::format("PACELINE_CONTROL_FD={} is not an open file's number; unset it", *text));
}

std::string read_secret(const std::string& path) {
  const auto refuse = [&](const std::string& why) {
    throw UsageError(fmt::format("the secret file {} {}", path, why));
  };
  const Socket file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat found {};
  if (!file || ::fstat(file.file(), &found) != 0) {
    refuse(std::string("cannot be read: ") + std::strerror(errno));
  }
  if (!S_ISREG(found.st_mode)) refuse("is no regular file");
  constexpr mode_t of_others = 077;
  if ((found.st_mode & of_others) != 0) refuse("can be read or written by others; chmod 600 it");
  constexpr std::size_t least = 16, most = 4096;
  std::string secret(most + 2, '\0');
  const ssize_t size = ::read(file.file(), secret.data(), secret.size());
  secret.resize(static_cast<std::size_t>(std::max(size, ssize_t{0})));
  if (secret.ends_with('\n')) secret.pop_back();
  if (secret.size() < least || secret.size() > most) {
    refuse("does not have 16 to 4096 bytes; write head -c 32 /dev/urandom into it");
  }
  return secret;
}

}  // namespace

std::string first_host(std::string_view list) {
  const auto open = list.find('[');
  const auto comma = list.find(',');
  if (open == std::string_view::npos || comma < open) return std::string(list.substr(0, comma));
  const auto close = list.find(']', open);
  if (close == std::string_view::npos) return {};
  const std::string_view numbers = list.substr(open + 1, close - open - 1);
  const std::string_view first = numbers.substr(0, numbers.find_first_of(",-"));
  const std::string_view rest = list.substr(close + 1);
  // Several brackets in one name are several dimensions: the first of each is the first host.
  return std::string(list.substr(0, open)).append(first).append(first_host(rest));
}

Rendezvous parse_rendezvous(const std::string& text, const Environment& environment) {
  Rendezvous rendezvous;
  rendezvous.interfaces = interfaces_from(environment);
  const std::string_view whole = text;
  if (whole == "env://" || whole == "env") {
    std::tie(rendezvous.host, rendezvous.host_source) = host_from(environment);
    rendezvous.port = port_from(environment);
    rendezvous.port_source = "MASTER_PORT";
  } else if (whole.starts_with("tcp://")) {
    set_from_host_port(text, whole.substr(6), rendezvous);
  } else if (whole.starts_with("file://")) {
    rendezvous.file = whole.substr(7);
    if (!rendezvous.file.starts_with('/') || rendezvous.file.ends_with('/')) {
      throw UsageError(
          fmt::format("{} names no file by its whole path; write file:///path/of/file", text));
    }
  } else {
    throw UsageError(
        fmt::format("{} is no rendezvous; write env://, tcp://host:port or file:///path", text));
  }
  const auto secret_file = environment("PACELINE_SECRET_FILE");
  if (secret_file) rendezvous.secret = read_secret(*secret_file);
  rendezvous.listener = listener_from(environment);
  return rendezvous;
}

}  // namespace paceline::real

#include "tests/testbed/host_entry.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>

#include <cstdio>
#include <new>

namespace paceline::testbed {
namespace {

// "PACELINE" and the page's version: what is not a testbed is told apart.
constexpr std::uint64_t control_magic = 0x5041'4345'4c49'4e01;

std::string descriptor_path(pid_t process, int number) {
  return "/proc/" + std::to_string(process) + "/fd/" + std::to_string(number);
}

ControlPage* mapped(int descriptor) {
  void* page =
      ::mmap(nullptr, sizeof(ControlPage), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (page == MAP_FAILED) throw system_failure("mmap");
  return static_cast<ControlPage*>(page);
}

ControlPage& control_page_of(pid_t testbed) {
  const std::string path = descriptor_path(testbed, control_descriptor);
  const Descriptor page(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (page.number() < 0) throw SetupError(std::to_string(testbed) + " is no testbed's process");
  ControlPage& control = *mapped(page.number());
  if (control.magic != control_magic) {
    throw SetupError(std::to_string(testbed) + " is no testbed's process");
  }
  return control;
}

void require_host(const ControlPage& control, std::uint32_t host) {
  if (host < control.hosts) return;
  throw SetupError("no host " + std::to_string(host) + ": there are hosts 0 to " +
                   std::to_string(control.hosts - 1));
}

}  // namespace

std::string host_name(std::uint32_t host) { return "host" + std::to_string(host); }
std::string host_address(std::uint32_t host) { return "10.77.0." + std::to_string(host + 1); }

void move_descriptor(Descriptor from, int number) {
  if (::fcntl(number, F_GETFD) != -1) {
    throw SetupError("file descriptor " + std::to_string(number) + " is in use");
  }
  require(::dup3(from.number(), number, O_CLOEXEC), "dup3");
}

ControlPage& make_control_page(std::uint32_t hosts) {
  Descriptor file = opened(::memfd_create("paceline-testbed", MFD_CLOEXEC), "memfd_create");
  require(::ftruncate(file.number(), sizeof(ControlPage)), "ftruncate");
  move_descriptor(std::move(file), control_descriptor);
  ControlPage* page = new (mapped(control_descriptor)) ControlPage{};
  page->magic = control_magic;
  page->hosts = hosts;
  return *page;
}

void enter_host(pid_t testbed, std::uint32_t host) {
  require_host(control_page_of(testbed), host);
  const int number = first_host_descriptor + static_cast<int>(host);
  const Descriptor network =
      opened(::open(descriptor_path(testbed, number).c_str(), O_RDONLY | O_CLOEXEC),
             "the network of " + host_name(host));
  require(::setns(network.number(), CLONE_NEWNET), "setns");
  require(::unshare(CLONE_NEWUTS | CLONE_NEWNS), "unshare");
  const std::string name = host_name(host);
  require(::sethostname(name.data(), name.size()), "sethostname");
  // A mounted /sys shows the network of whoever mounted it; mounts from here on stay here.
  require(::mount("none", "/", nullptr, MS_REC | MS_SLAVE, nullptr), "mount /");
  require(::mount("sysfs", "/sys", "sysfs", 0, nullptr), "mount /sys");
}

void set_link_down(pid_t testbed, std::uint32_t host, bool is_down) {
  ControlPage& control = control_page_of(testbed);
  require_host(control, host);
  control.link_is_down[host].store(is_down ? 1 : 0);
}

int execute(const std::vector<std::string>& command) {
  std::vector<char*> argv;
  for (const std::string& argument : command) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  ::execvp(argv.front(), argv.data());
  const int error = errno;
  std::fprintf(stderr, "paceline-testbed: %s: %s\n", argv.front(), std::strerror(error));
  return error == ENOENT ? 127 : 126;  // as shells do
}

}  // namespace paceline::testbed

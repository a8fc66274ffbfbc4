#include "scenarios/files/system_error.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "scenarios/errors.h"

namespace paceline::files {

void throw_system_error(const std::string& path, const std::string& what, int error) {
  constexpr std::array of_the_path{ENOENT, ENOTDIR, EISDIR, EACCES, EPERM,   ENAMETOOLONG,
                                   ELOOP,  EROFS,   EINVAL, ENXIO,  ETXTBSY, EBADF};
  const std::string sentence = what + ": " + std::strerror(error);
  if (std::ranges::find(of_the_path, error) != of_the_path.end()) {
    throw InputError({path}, sentence, "");
  }
  throw BackendError(path, sentence);
}

}  // namespace paceline::files

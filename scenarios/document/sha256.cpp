#include "scenarios/document/sha256.h"

#include <fmt/format.h>
#include <nettle/sha2.h>

#include <fstream>
#include <vector>

#include "scenarios/errors.h"

namespace paceline::loader {

namespace {

class Hash {
 public:
  Hash() { sha256_init(&context_); }
  void add(std::string_view text) {
    sha256_update(&context_, text.size(), reinterpret_cast<const std::uint8_t*>(text.data()));
  }
  [[nodiscard]] Sha256 digest() {
    Sha256 digest{};
    sha256_digest(&context_, digest.size(), digest.data());
    return digest;
  }

 private:
  sha256_ctx context_;
};

}  // namespace

Sha256 digest_of(std::string_view text) {
  Hash hash;
  hash.add(text);
  return hash.digest();
}

Sha256 sha256_of_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::vector<char> block(std::size_t{1} << 16);
  Hash hash;
  while (in) {
    in.read(block.data(), static_cast<std::streamsize>(block.size()));
    hash.add({block.data(), static_cast<std::size_t>(in.gcount())});
  }
  if (in.bad() || !in.eof()) throw InputError({path}, "cannot be read", "");
  return hash.digest();
}

std::string sha256_of(const std::string& text) {
  return fmt::format("{:02x}", fmt::join(digest_of(text), ""));
}

}  // namespace paceline::loader

#include "traces/archive/archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <memory>
#include <new>
#include <stdexcept>
#include <system_error>
#include <utility>
#include <vector>

#include "traces/archive/input.h"

namespace paceline::traces {
namespace {

class ArchiveError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct Close {
  void operator()(archive* opened) const { archive_read_free(opened); }
};
using Reader = std::unique_ptr<archive, Close>;

// Why libarchive goes no further. Throws std::bad_alloc where there is no memory.
std::string reason_of(archive* reader) {
  if (archive_errno(reader) == ENOMEM) throw std::bad_alloc();
  const char* text = archive_error_string(reader);
  return text == nullptr ? "cannot be read" : text;
}

[[noreturn]] void fail(archive* reader) { throw ArchiveError(reason_of(reader)); }

[[noreturn]] void refuse_size(const std::string& what, std::uint64_t most) {
  throw ArchiveError(what + " more than " + std::to_string(most >> 30U) + " GiB");
}

using Wanted = std::function<bool(std::string_view)>;
using Take = std::function<void(UnpackedFile)>;

// Where the bytes are: what can be read only once, a pipe, is in memory.
struct Source {
  std::string path;  // as messages have it
  std::string place = path;
  std::shared_ptr<const std::string> bytes = nullptr;
  std::uint64_t size = 0;  // of the file; 0 where it is in memory
};

// `raw` stands for one file, whatever it is compressed with; else null for what is no archive.
Reader opened(const Source& source, bool raw) {
  Reader reader(archive_read_new());
  if (!reader) throw std::bad_alloc();
  archive_read_support_filter_all(reader.get());
  if (raw) {
    archive_read_support_format_raw(reader.get());
    archive_read_support_format_empty(reader.get());
  } else {
    archive_read_support_format_tar(reader.get());
    archive_read_support_format_zip(reader.get());
  }
  constexpr std::size_t block = 1 << 20;
  const int status =
      source.bytes
          ? archive_read_open_memory(reader.get(), source.bytes->data(), source.bytes->size())
          : archive_read_open_filename(reader.get(), source.place.c_str(), block);
  if (status == ARCHIVE_OK) return reader;
  // A file that is no archive is opened again as a raw file, which reports what is wrong with it.
  if (raw) fail(reader.get());
  return nullptr;
}

void expect_in_limits(std::uint64_t unpacked, archive* reader) {
  if (unpacked > unpacked_most) refuse_size("unpacks to", unpacked_most);
  const auto packed =
      static_cast<std::uint64_t>(std::max<la_int64_t>(archive_filter_bytes(reader, -1), 1));
  if (unpacked > unpacked_unasked && unpacked / packed > unpacked_ratio_most) {
    throw ArchiveError("unpacks to more than " + std::to_string(unpacked_ratio_most) +
                       " times its size");
  }
}

// Until the text has `enough` bytes, or there are no more; a reason where there should be.
std::string read_on(archive* reader, std::uint64_t enough, std::string& text) {
  const void* part = nullptr;
  std::size_t size = 0;
  la_int64_t offset = 0;
  while (text.size() < enough) {
    const int status = archive_read_data_block(reader, &part, &size, &offset);
    if (status == ARCHIVE_EOF) return {};
    if (status < ARCHIVE_WARN) return reason_of(reader);
    expect_in_limits(text.size() + size, reader);
    text.append(static_cast<const char*>(part), size);
  }
  return {};
}

constexpr std::string_view gzip_begins = "\x1f\x8b";

// Adds what libarchive keeps of a cut gzip file's last block, which of a small file is all.
void add_rest_of_gzip(std::string_view packed, std::string& text) {
  constexpr int any_window = 15, gzip_header = 16;  // zlib.h, inflateInit2
  if (!packed.starts_with(gzip_begins) || packed.size() > std::numeric_limits<uInt>::max()) return;
  z_stream stream{};
  if (inflateInit2(&stream, any_window + gzip_header) != Z_OK) throw std::bad_alloc();
  // zlib reads it only; the field is not const for the sake of old programs.
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  std::vector<char> block(first_bytes);
  std::uint64_t before = 0;  // unpacked, up to the block
  for (int status = Z_OK; status == Z_OK;) {
    stream.next_out = reinterpret_cast<Bytef*>(block.data());
    stream.avail_out = static_cast<uInt>(block.size());
    status = inflate(&stream, Z_NO_FLUSH);
    const std::uint64_t size = block.size() - stream.avail_out;
    if (before + size > text.size() && before <= text.size()) {
      const std::uint64_t known = text.size() - before;
      text.append(block.data() + known, size - known);
    }
    before += size;
    if (size == 0 || before > unpacked_most) break;
  }
  inflateEnd(&stream);
}

void add_rest_of_gzip(const Source& source, std::string& text) {
  if (source.bytes) return add_rest_of_gzip(*source.bytes, text);
  if (source.size > std::numeric_limits<uInt>::max()) return;
  std::ifstream packed(source.place, std::ios::binary);
  if (packed.peek() != gzip_begins.front()) return;
  const std::string bytes{std::istreambuf_iterator<char>(packed), {}};
  add_rest_of_gzip(bytes, text);
}

bool is_unwanted(std::string_view text, const Wanted& is_wanted) {
  return text.size() >= first_bytes && !is_wanted(text.substr(0, first_bytes));
}

// All of it, or its first bytes where those are not wanted.
UnpackedFile unpacked(archive* reader, const Wanted& is_wanted, std::string name,
                      const std::string& path) {
  UnpackedFile file{std::move(name), {}, path, {}};
  file.cut = read_on(reader, first_bytes, file.text);
  if (file.cut.empty() && is_unwanted(file.text, is_wanted)) {
    file.text.resize(first_bytes);  // a pipe's is in memory, and comes whole
  } else if (file.cut.empty()) {
    file.cut = read_on(reader, unpacked_most + 1, file.text);
  }
  return file;
}

// At the header of the only file; null where that is empty.
Reader at_raw_file(const Source& source) {
  Reader reader = opened(source, true);
  archive_entry* entry = nullptr;
  const int status = archive_read_next_header(reader.get(), &entry);
  if (status == ARCHIVE_EOF) return nullptr;
  if (status < ARCHIVE_WARN) fail(reader.get());
  return reader;
}

// Whether a stream that begins so is one file, packed or not, that is not wanted.
bool begins_unwanted(const Source& first, const Wanted& is_wanted) {
  archive_entry* entry = nullptr;
  const Reader packed = opened(first, false);
  const int status = packed ? archive_read_next_header(packed.get(), &entry) : ARCHIVE_EOF;
  if (status != ARCHIVE_EOF && status >= ARCHIVE_WARN) return false;  // zeros end an archive
  try {
    const Reader reader = at_raw_file(first);
    std::string text;
    const bool goes_on = reader && !read_on(reader.get(), first_bytes, text).empty();
    return !goes_on && is_unwanted(text, is_wanted);
  } catch (const ArchiveError&) {  // it goes on
    return false;
  }
}

// Throws ArchiveError with the system's reason, and SilentInput.
Source source_of(const std::string& path, const Wanted& is_wanted) {
  const std::string name = name_of_input(path);
  try {
    auto input = std::make_unique<Input>(path);
    if (input->size()) {
      const std::string place = path == standard_input ? "/proc/self/fd/0" : path;
      return {name, place, nullptr, *input->size()};
    }
    const auto goes_on = [&](const std::string& first) {
      const Source begun{name, "", std::shared_ptr<const std::string>(&first, [](const void*) {})};
      return !begins_unwanted(begun, is_wanted);
    };
    Source source{name, "", bytes_of_stream(std::move(input), piped_most, goes_on)};
    if (source.bytes->size() > piped_most) refuse_size("comes from a pipe, and is", piped_most);
    return source;
  } catch (const std::system_error& error) {
    throw ArchiveError(error.code().message());
  }
}

void take_cut(UnpackedFile file, const Take& take) {
  if (file.text.empty()) throw ArchiveError(file.cut);
  take(std::move(file));
}

// False when it is no archive.
bool take_archive(const std::string& path, const Source& source, const Wanted& is_wanted,
                  const Take& take) {
  const Reader reader = opened(source, false);
  if (!reader) return false;
  archive_entry* entry = nullptr;
  for (bool is_first = true;; is_first = false) {
    const int status = archive_read_next_header(reader.get(), &entry);
    if (status == ARCHIVE_EOF) return !is_first;
    if (status < ARCHIVE_WARN) {
      if (is_first) return false;
      fail(reader.get());
    }
    if (archive_entry_filetype(entry) != AE_IFREG) continue;
    std::string name = source.path + ":" + archive_entry_pathname(entry);
    UnpackedFile file = unpacked(reader.get(), is_wanted, std::move(name), path);
    if (file.cut.empty()) {
      take(std::move(file));
    } else {
      take_cut(std::move(file), take);
      return true;  // nothing can be behind it
    }
  }
}

// Of what is not packed the size tells at once: a hole of a terabyte behind some text does.
void expect_plain_in_limits(const Source& source, archive* reader) {
  constexpr int none = 1;  // filter, but that which hands on bytes
  if (archive_filter_count(reader) == none && source.size > unpacked_most) {
    refuse_size("has", unpacked_most);
  }
}

void take_file(const std::string& path, const Wanted& is_wanted, const Take& take) {
  const Source source = source_of(path, is_wanted);
  if (take_archive(path, source, is_wanted, take)) return;
  UnpackedFile file{source.path, {}, path, {}};
  Reader reader;
  try {
    reader = at_raw_file(source);
  } catch (const ArchiveError& error) {  // before the first block
    file.cut = error.what();
  }
  if (reader) {
    expect_plain_in_limits(source, reader.get());
    file = unpacked(reader.get(), is_wanted, source.path, path);
  }
  if (file.cut.empty()) return take(std::move(file));
  add_rest_of_gzip(source, file.text);
  take_cut(std::move(file), take);
}

std::vector<std::string> files_below(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) files.push_back(entry.path().string());
  }
  std::ranges::sort(files);
  return files;
}

}  // namespace

void for_each_file(const std::string& path, const Wanted& is_wanted, const Take& take,
                   const std::function<void(std::string, std::string)>& refuse) {
  std::vector<std::string> files{path};
  try {
    if (path != standard_input && std::filesystem::is_directory(path)) files = files_below(path);
  } catch (const std::filesystem::filesystem_error& error) {
    return refuse(path, error.code().message());
  }
  for (const std::string& file : files) {
    try {
      take_file(file, is_wanted, take);
    } catch (const ArchiveError& error) {
      refuse(name_of_input(file), error.what());
    }
  }
}

}  // namespace paceline::traces

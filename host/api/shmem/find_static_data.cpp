#include "host/api/shmem/find_static_data.hpp"

#include <elf.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <string_view>

#include <fmt/format.h>

#include "src/base/round_up.hpp"

namespace weft::shmem {

namespace {

std::uintptr_t page() {
  static const auto bytes = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}
std::uintptr_t page_down(std::uintptr_t address) { return address / page() * page(); }
std::uintptr_t page_up(std::uintptr_t address) { return page_down(address + page() - 1); }

// A program or library that is loaded.
class Object {
 public:
  explicit Object(const dl_phdr_info& info)
      : base_(info.dlpi_addr),
        path_(info.dlpi_name == nullptr ? "" : info.dlpi_name),
        headers_(info.dlpi_phdr, info.dlpi_phnum) {}

  std::string_view path() const { return path_; }
  bool holds(std::uintptr_t address) const {
    return std::any_of(headers_.begin(), headers_.end(), [&](const ElfW(Phdr) & header) {
      return header.p_type == PT_LOAD && address - start(header) < header.p_memsz;
    });
  }

  // Program headers say what is data; what the loader makes read-only again is not.
  void add_data(const std::string& name, std::vector<OwnMemory>* pieces) const {
    int number = 0;
    for (const ElfW(Phdr) & header : headers_) {
      if (header.p_type != PT_LOAD || (header.p_flags & PF_W) == 0 || (header.p_flags & PF_X) != 0)
        continue;
      const std::uintptr_t end = page_up(start(header) + header.p_memsz);
      const std::uintptr_t begin = std::max(page_down(start(header)), end_of_constants(header));
      if (begin >= end) continue;
      pieces->push_back({reinterpret_cast<void*>(begin), end - begin,
                         fmt::format("{}, data segment {}", name, ++number)});
    }
  }

  std::string build_id() const {
    for (const ElfW(Phdr) & header : headers_) {
      if (header.p_type != PT_NOTE) continue;
      const std::string id = build_id_in(
          {reinterpret_cast<const unsigned char*>(start(header)), header.p_memsz}, header.p_align);
      if (!id.empty()) return "build id " + id;
    }
    return "no build id";
  }

 private:
  std::uintptr_t start(const ElfW(Phdr) & header) const { return base_ + header.p_vaddr; }

  // The loader protects whole pages, and rounds down.
  std::uintptr_t end_of_constants(const ElfW(Phdr) & segment) const {
    for (const ElfW(Phdr) & header : headers_) {
      if (header.p_type != PT_GNU_RELRO) continue;
      const std::uintptr_t begin = start(header), end = begin + header.p_memsz;
      if (begin < start(segment) + segment.p_memsz && end > start(segment)) return page_down(end);
    }
    return 0;
  }

  static std::string build_id_in(std::span<const unsigned char> notes, std::size_t align) {
    const auto padded = [&](std::size_t bytes) { return round_up(bytes, align == 8 ? 8 : 4); };
    while (notes.size() >= sizeof(ElfW(Nhdr))) {
      ElfW(Nhdr) note;
      std::memcpy(&note, notes.data(), sizeof(note));
      const std::size_t at = sizeof(note) + padded(note.n_namesz);
      if (at > notes.size() || note.n_descsz > notes.size() - at) break;
      const bool gnu = note.n_namesz == sizeof("GNU") &&
                       std::memcmp(notes.data() + sizeof(note), "GNU", sizeof("GNU")) == 0;
      if (gnu && note.n_type == NT_GNU_BUILD_ID) {
        std::string id;
        for (const unsigned char byte : notes.subspan(at, note.n_descsz))
          id += fmt::format("{:02x}", byte);
        return id;
      }
      notes = notes.subspan(std::min(notes.size(), at + padded(note.n_descsz)));
    }
    return "";
  }

  std::uintptr_t base_;
  std::string_view path_;
  std::span<const ElfW(Phdr)> headers_;
};

bool is_the_systems(std::string_view path) {
  if (path.find('/') == std::string_view::npos) return true;  // the kernel's own
  for (const std::string_view folder : {"/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/"})
    if (path.starts_with(folder)) return true;
  return false;
}

struct Search {
  Owner owner;
  bool first = true;  // the program comes first
  std::vector<OwnMemory> pieces;
};

bool is_wefts(const Object& object) {
  return object.holds(reinterpret_cast<std::uintptr_t>(&find_static_data)) ||
         object.path().find("/libweft") != std::string_view::npos;
}

int visit(dl_phdr_info* info, std::size_t, void* argument) {
  auto& search = *static_cast<Search*>(argument);
  const Object object(*info);
  if (search.first) {
    object.add_data(fmt::format("the program ({})", object.build_id()), &search.pieces);
  } else if (search.owner == Owner::kProgramAndLibraries && !is_the_systems(object.path()) &&
             !is_wefts(object)) {
    const std::string_view file = object.path().substr(object.path().rfind('/') + 1);
    object.add_data(fmt::format("{} ({})", file, object.build_id()), &search.pieces);
  }
  search.first = false;
  return 0;
}

}  // namespace

std::vector<OwnMemory> find_static_data(Owner owner) {
  Search search{owner, true, {}};
  if (owner != Owner::kNobody) ::dl_iterate_phdr(visit, &search);
  return search.pieces;
}

}  // namespace weft::shmem

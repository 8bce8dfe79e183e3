#include "src/base/dynlib.hpp"

#include <dlfcn.h>
#include <link.h>

#include <fmt/format.h>

#include "src/base/status.hpp"
#include "src/base/unique_fd.hpp"

namespace weft {

Result<Dynlib> Dynlib::open(std::span<const std::string> names, Scope scope) {
  hold_standard_streams();
  std::string why;
  for (const std::string& name : names) {
    const int flags = RTLD_LAZY | (scope == Scope::kGlobal ? RTLD_GLOBAL : RTLD_LOCAL);
    if (void* const handle = ::dlopen(name.c_str(), flags)) return Dynlib(handle, name);
    why += fmt::format("{}{}", why.empty() ? "" : "; ", ::dlerror());
  }
  return Status::error(Code::kUnsupported, why);
}

Result<Dynlib> Dynlib::loaded(std::span<const std::string> names) {
  for (const std::string& name : names) {
    if (void* const handle = ::dlopen(name.c_str(), RTLD_LAZY | RTLD_NOLOAD)) {
      return Dynlib(handle, name);
    }
  }
  return Status::error(Code::kUnsupported, "this process has not loaded it");
}

Status Dynlib::find_symbol(const char* name, void*& symbol) const {
  symbol = ::dlsym(handle_, name);
  if (symbol != nullptr) return Status::ok();
  return Status::error(Code::kUnsupported, fmt::format("{} lacks {}", path(), name));
}

Status Dynlib::find_object(const char* name, void*& object) const {
  object = ::dlsym(RTLD_DEFAULT, name);
  return object != nullptr ? Status::ok() : find_symbol(name, object);
}

bool Dynlib::has(const char* name) const { return ::dlsym(handle_, name) != nullptr; }

std::string Dynlib::path() const {
  link_map* map = nullptr;
  if (::dlinfo(handle_, RTLD_DI_LINKMAP, &map) != 0 || map->l_name == nullptr ||
      *map->l_name == '\0') {
    return name_;
  }
  return map->l_name;
}

}  // namespace weft

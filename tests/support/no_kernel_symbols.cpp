// libfabric's verbs provider reads the list of the kernel's symbols, twice, in every process that
// loads it: a third of a second, which a suite of a thousand small processes does not have. Without
// the list it takes dmabuf for missing, which no test has. A program's own fopen goes before the C
// library's, for what the program loads as well.
#include <dlfcn.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

extern "C" [[gnu::visibility("default")]] std::FILE* fopen(const char* file, const char* mode) {
  if (std::strcmp(file, "/proc/kallsyms") == 0) {
    errno = ENOENT;
    return nullptr;
  }
  static const auto next = reinterpret_cast<decltype(&fopen)>(::dlsym(RTLD_NEXT, "fopen"));
  return next(file, mode);
}

// Libfabric, found at run time, and its objects, which are closed with their handles.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include <memory>
#include <string>
#include <string_view>

#include <weft/result.hpp>

namespace weft::ofi {

#define WEFT_OFI_FUNCTIONS(ROW) \
  ROW(getinfo)                  \
  ROW(freeinfo)                 \
  ROW(dupinfo)                  \
  ROW(fabric)                   \
  ROW(version)                  \
  ROW(strerror)

// Functions that the library exports; all else is called through the objects that these make.
struct Libfabric {
  // Opens the file, or libfabric.so.1 if that is empty. A success is kept for the process.
  static Result<const Libfabric*> get(const std::string& file);

#define WEFT_ROW(name) decltype(&::fi_##name) name = nullptr;
  WEFT_OFI_FUNCTIONS(WEFT_ROW)
#undef WEFT_ROW
};

struct FreeInfo {
  const Libfabric* library = nullptr;
  void operator()(fi_info* info) const { library->freeinfo(info); }
};
using Info = std::unique_ptr<fi_info, FreeInfo>;

struct CloseFid {
  template <class Object>
  void operator()(Object* object) const {
    ::fi_close(&object->fid);
  }
};
template <class Object>
using Handle = std::unique_ptr<Object, CloseFid>;

// "cannot open an endpoint on tcp on eth0: Cannot allocate memory (libfabric error 12). ...", with
// the mend if there is a known one. `result` is negative, as libfabric returns it.
Status failure(const Libfabric& library, std::string_view what, std::string_view where,
               long result);

// Returns what `make(&object)` makes, unless that returns an error.
template <class Object, class Make>
Result<Handle<Object>> owned(const Libfabric& library, Make make, std::string_view what,
                             std::string_view where) {
  Object* made = nullptr;
  if (const long result = make(&made); result != 0) return failure(library, what, where, result);
  return Handle<Object>(made);
}

}  // namespace weft::ofi

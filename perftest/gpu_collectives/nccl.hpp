// NCCL as a library that is found when the program runs: the calls that a comparison needs. The
// declarations here are of NCCL's interface, which keeps them since 2.10.
#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <string>

#include <weft/collective.hpp>
#include <weft/weft.hpp>

#include "perftest/status.hpp"

namespace weft::perf::collectives {

class Nccl {
 public:
  struct Id {
    char bytes[128];
  };
  static constexpr int kBfloat16 = 9, kSum = 0;

  // Collective over the job; `path`: the library. None: `why` says so.
  static Result<Nccl> create(Runtime& rt, const std::string& path) {
    Nccl made;
    void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return Status::error(Code::kUnsupported, dlerror());
    const bool all = find(library, "ncclGetUniqueId", made.get_id) &&
                     find(library, "ncclCommInitRank", made.init) &&
                     find(library, "ncclAllReduce", made.all_reduce) &&
                     find(library, "ncclAllGather", made.all_gather) &&
                     find(library, "ncclReduceScatter", made.reduce_scatter) &&
                     find(library, "ncclBroadcast", made.broadcast) &&
                     find(library, "ncclSend", made.send) &&
                     find(library, "ncclRecv", made.receive) &&
                     find(library, "ncclGroupStart", made.group_start) &&
                     find(library, "ncclGroupEnd", made.group_end);
    if (!all) return Status::error(Code::kUnsupported, path + " lacks a call of NCCL 2.10");
    (void)find(library, "ncclMemAlloc", made.allocate);
    (void)find(library, "ncclCommWindowRegister", made.register_window);
    ASSIGN_OR_RETURN(auto* const id, rt.allocate<Id>(2));
    if (rt.pe() == 0 && made.get_id(id) != 0)
      return Status::error(Code::kInternal, "ncclGetUniqueId failed");
    RETURN_IF_ERROR(broadcast_bytes(rt.context(), rt.world(), id + 1, id, sizeof(Id), 0));
    if (made.init(&made.comm, rt.npes(), id[1], rt.pe()) != 0)
      return Status::error(Code::kInternal, "ncclCommInitRank failed");
    return made;
  }

  // Memory in a window of its symmetric memory, until the program ends; null where this NCCL has
  // none. Collective.
  Result<void*> window(std::size_t bytes) const {
    void *memory = nullptr, *handle = nullptr;
    if (allocate == nullptr || register_window == nullptr) return memory;
    if (allocate(&memory, bytes) != 0 ||
        register_window(comm, memory, bytes, &handle, kSymmetric) != 0)
      return Status::error(Code::kInternal, "NCCL has no memory for symmetric windows");
    return memory;
  }

  using Stream = cudaStream_t;
  int (*get_id)(Id*) = nullptr;
  int (*init)(void** comm, int npes, Id, int pe) = nullptr;
  int (*all_reduce)(const void*, void*, std::size_t, int type, int op, void* comm,
                    Stream) = nullptr;
  int (*all_gather)(const void*, void*, std::size_t, int type, void* comm, Stream) = nullptr;
  int (*reduce_scatter)(const void*, void*, std::size_t, int type, int op, void* comm,
                        Stream) = nullptr;
  int (*broadcast)(const void*, void*, std::size_t, int type, int root, void* comm,
                   Stream) = nullptr;
  int (*send)(const void*, std::size_t, int type, int peer, void* comm, Stream) = nullptr;
  int (*receive)(void*, std::size_t, int type, int peer, void* comm, Stream) = nullptr;
  int (*group_start)() = nullptr;
  int (*group_end)() = nullptr;
  // Null before 2.27.
  int (*allocate)(void** memory, std::size_t bytes) = nullptr;
  int (*register_window)(void* comm, void* memory, std::size_t bytes, void** window,
                         int flags) = nullptr;
  void* comm = nullptr;

 private:
  static constexpr int kSymmetric = 1;
  template <class Function>
  static bool find(void* library, const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(library, name));
    return function != nullptr;
  }
};

}  // namespace weft::perf::collectives

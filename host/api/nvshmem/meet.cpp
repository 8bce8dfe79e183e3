#include "host/api/nvshmem/meet.hpp"

#include <dlfcn.h>

#include <string>
#include <string_view>

#include <fmt/format.h>

namespace weft::nvshmem {
namespace {

Result<Runtime> meet_by_id(const nvshmemx_init_attr_t* attr, const Options& options) {
  const nvshmemx_uniqueid_args_t* const args = attr == nullptr ? nullptr : &attr->args.uid_args;
  if (args == nullptr || args->id == nullptr)
    return failure(Code::kInvalidArgument,
                   "NVSHMEMX_INIT_WITH_UNIQUEID asks for attributes that "
                   "nvshmemx_set_attr_uniqueid_args has filled, and there are none");
  const char* const text = args->id->internal;
  auto id = UniqueId::parse(std::string_view(text, ::strnlen(text, sizeof(args->id->internal))));
  if (!id) return id.status();
  return Runtime::create(*id, args->myrank, args->nranks, options);
}

template <class Function>
bool find(const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(::dlsym(RTLD_DEFAULT, name));
  return function != nullptr;
}

}  // namespace

Status failure(Code code, std::string_view why, const char* file, int line) {
  return Status::error(code, fmt::format("{}: {}", detail::caller_name, why), file, line);
}

Options for_other_hosts(Options options) {
  if (options.bind_address.empty()) options.bind_address = "0.0.0.0";
  return options;
}

void Announcement::make(int npes, const Options& options) {
  id_ = UniqueId::create(npes, for_other_hosts(options));
  const std::string text = id_ ? "+" + id_->text() : "-" + std::string(id_.status().text());
  text.copy(text_, kBytes - 1);
}

Result<Runtime> Announcement::follow(int pe, int npes, const Options& options) {
  const std::string_view told(text_, ::strnlen(text_, kBytes));
  if (pe == 0 && !id_) return id_.status();
  if (told.empty() || told[0] != '+')
    return failure(Code::kPeerLost, fmt::format("PE 0 could not make a place to meet: {}", told));
  if (pe != 0) id_ = UniqueId::parse(told.substr(1));
  if (!id_) return id_.status();
  return Runtime::create(*id_, pe, npes, options);
}

Result<Runtime> meet_by_shmem(const Options& options) {
  int (*my_pe)() = nullptr;
  int (*n_pes)() = nullptr;
  void* (*allocate)(std::size_t) = nullptr;
  void (*free)(void*) = nullptr;
  void (*get)(void*, const void*, std::size_t, int) = nullptr;
  void (*put)(void*, const void*, std::size_t, int) = nullptr;
  void (*barrier)() = nullptr;
  if (!find("shmem_my_pe", my_pe) || !find("shmem_n_pes", n_pes) ||
      !find("shmem_malloc", allocate) || !find("shmem_free", free) || !find("shmem_getmem", get) ||
      !find("shmem_putmem", put) || !find("shmem_barrier_all", barrier))
    return failure(Code::kInvalidArgument,
                   "NVSHMEMX_INIT_WITH_SHMEM is for programs that are linked with an "
                   "OpenSHMEM library, which this one is not");
  const int pe = my_pe(), npes = n_pes();
  void* const board = npes < 1 ? nullptr : allocate(Announcement::kBytes);
  if (board == nullptr)
    return failure(Code::kInvalidArgument,
                   "OpenSHMEM gives no memory: shmem_init must come before");
  Announcement news;
  if (pe == 0) {
    news.make(npes, options);
    put(board, news.text(), Announcement::kBytes, 0);
  }
  barrier();
  get(news.text(), board, Announcement::kBytes, 0);
  auto made = news.follow(pe, npes, options);
  free(board);  // waits for all
  return made;
}

Result<Runtime> meet(unsigned flags, const nvshmemx_init_attr_t* attr, const Options& options) {
  if ((flags & NVSHMEMX_INIT_WITH_UNIQUEID) != 0) return meet_by_id(attr, options);
  if ((flags & NVSHMEMX_INIT_WITH_MPI_COMM) != 0)
    return meet_by_mpi(attr == nullptr ? nullptr : attr->mpi_comm, options);
  if ((flags & NVSHMEMX_INIT_WITH_SHMEM) != 0) return meet_by_shmem(options);
  return Runtime::create(options);
}

}  // namespace weft::nvshmem

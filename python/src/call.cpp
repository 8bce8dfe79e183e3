#include "python/src/call.hpp"

#include <cstdint>

#include <fmt/format.h>

#include "python/src/torch.hpp"

namespace weft::python {
namespace {

namespace nb = nanobind;

Stream handle_of(std::uintptr_t number) {
  // CUDA's name of the legacy default stream where 0 may be a thread's own one.
  constexpr std::uintptr_t kLegacy = 1;
  return reinterpret_cast<Stream>(number == 0 ? kLegacy : number);
}

bool is_current(Handle given) { return given.is_none() || given.is(Handle(Py_Ellipsis)); }

}  // namespace

Stream stream_of(const Job& job, Handle given) {
  if (job.gpu() == nullptr) {
    if (is_current(given)) return nullptr;
    raise_argument(
        "argument stream: this job runs on host threads, where a call has run when it "
        "returns; leave the stream out");
  }
  if (is_current(given))
    return handle_of(reinterpret_cast<std::uintptr_t>(torch_stream(job.gpu_number())));
  std::uintptr_t number = 0;
  if (nb::try_cast(given, number)) return handle_of(number);
  if (nb::hasattr(given, "__cuda_stream__"))  // (version, handle), as CUDA's own packages have it
    return handle_of(nb::cast<std::uintptr_t>(given.attr("__cuda_stream__")()[1]));
  for (const char* const name : {"cuda_stream", "ptr"})  // of torch, of CuPy
    if (nb::hasattr(given, name) && nb::try_cast(given.attr(name), number))
      return handle_of(number);
  raise_argument(
      fmt::format("argument stream is a {}; it is a stream of torch or CuPy, or the "
                  "number that CUDA knows it by",
                  nb::type_name(given.type()).c_str()));
}

void check_not_captured(const Job& job) {
  if (job.gpu() != nullptr) check(Gpu::check_not_captured(torch_stream(job.gpu_number())));
}

Call::Call(const JobPtr& job, Handle on)
    : job_(job.get()),
      use_(value_of(job->use())),
      is_queued_(!on.is_none()),
      stream_(is_queued_ ? stream_of(*job, on) : nullptr) {}

const Team& Call::team(const TeamOf* given) const {
  if (given != nullptr && given->job.get() != job_)
    raise_argument("argument team is of another job than the current one");
  return given != nullptr ? given->team : use_->world();
}

View Call::array(const char* name, Handle given, Access access) const {
  View view = view_of(name, given, access);
  if (is_queued_)
    check_place(name, view, job_->gpu_number(),
                job_->gpu() == nullptr
                    ? "this job runs on host threads; weft.init(device=\"cuda\") takes a GPU"
                    : "calls on a stream of the GPU take its own (device=\"cuda\")");
  else
    check_place(name, view, -1, "weft.on_stream has this call for it, in the order of a stream");
  return view;
}

}  // namespace weft::python

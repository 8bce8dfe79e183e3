// Call: one call of a job, carried out by the calling thread or queued on a stream.
#pragma once

#include <cstddef>
#include <cstdint>

#include <nanobind/nanobind.h>

#include <weft/collective.hpp>
#include <weft/context.hpp>
#include <weft/kernels/stream.hpp>
#include <weft/on_stream.hpp>
#include <weft/wait.hpp>

#include "python/src/array.hpp"
#include "python/src/errors.hpp"
#include "python/src/gpu.hpp"
#include "python/src/job.hpp"

namespace weft::python {

using JobPtr = std::shared_ptr<Job>;
using Handle = nanobind::handle;

// A team of a job, which ends with it or by weft.Team.destroy().
struct TeamOf {
  std::shared_ptr<Job> job;
  Team team;
  std::shared_ptr<void> on_gpu = nullptr;  // a copy for kernels, made when one is asked for
};

// The stream that a caller means: None or Ellipsis for torch's current one (without torch, and for
// 0, CUDA's legacy default stream), a number, or an object of torch, CuPy or another library that
// has one. Null in a job on host threads, which takes no other.
Stream stream_of(const Job& job, Handle given);

// Raises, and says what to do, where torch captures a graph.
void check_not_captured(const Job& job);

// body(), which queues on the stream, without the interpreter's lock. On a GPU the work is queued
// then, on host threads it has run; raises what fails.
template <class Body>
void queue_on(const Job& job, const Runtime& runtime, Stream stream, Body body) {
  check(unlocked([&]() -> Status {
    const Gpu::Current current(job.gpu());
    Status queued = body();
    return queued && job.gpu() == nullptr ? kernels::synchronize(runtime, stream) : queued;
  }));
}

// The calling thread does it, by the routines that OnStream has for streams.
class ByThread {
 public:
  explicit ByThread(Context& context) : context_(context) {}
  Status put_bytes(void* dst, const void* src, std::size_t bytes, int pe, Notify notify) {
    return context_.put_bytes(dst, src, bytes, pe, notify);
  }
  Status get_bytes(void* dst, const void* src, std::size_t bytes, int pe) {
    return context_.get_bytes(dst, src, bytes, pe);
  }
  Status signal(Notify notify, int pe) { return context_.signal(notify, pe); }
  Status wait_words(const WaitArgs& args) {
    return weft::wait_words(context_, args, true).status();
  }
  Status quiet() { return context_.quiet(); }
  Status barrier(const Team& team) { return weft::barrier(context_, team); }
  Status sync(const Team& team) { return weft::sync(context_, team); }
  Status broadcast_bytes(const Team& team, void* dst, const void* src, std::size_t bytes,
                         int root) {
    return weft::broadcast_bytes(context_, team, dst, src, bytes, root);
  }
  Status fcollect_bytes(const Team& team, void* dst, const void* src, std::size_t bytes) {
    return weft::fcollect_bytes(context_, team, dst, src, bytes);
  }
  Status alltoall_bytes(const Team& team, void* dst, const void* src, std::size_t bytes) {
    return weft::alltoall_bytes(context_, team, dst, src, bytes);
  }
  Status reduce_elements(const Team& team, void* dst, const void* src, std::size_t count,
                         Element element, ReduceOp op) {
    return weft::reduce_elements(context_, team, dst, src, count, element, op);
  }
  Status reducescatter_elements(const Team& team, void* dst, const void* src, std::size_t count,
                                Element element, ReduceOp op) {
    return weft::reducescatter_elements(context_, team, dst, src, count, element, op);
  }

 private:
  Context& context_;
};

// libweft's failures name its own routines, whose arguments have the names that they have here.
class Call {
 public:
  // on: None, the calling thread; else a stream as stream_of() takes it.
  explicit Call(const JobPtr& job, Handle on = nanobind::none());

  Runtime* operator->() const { return &*use_; }
  Context& context() const { return use_->context(); }
  // The team, or the world for null. It raises, so it is called with the interpreter's lock.
  const Team& team(const TeamOf* given) const;
  // An argument, which lies where the call's arrays do.
  View array(const char* name, Handle given, Access access) const;

  // body(what has the routines), without the interpreter's lock; raises what fails. On a GPU the
  // call is queued then, on host threads it has run.
  template <class Body>
  void run(Body body) const {
    if (is_queued_) {
      OnStream queue(context(), stream_);
      return queue_on(*job_, *use_, stream_, [&] { return body(queue); });
    }
    ByThread thread(context());
    check(unlocked([&] { return body(thread); }));
  }

 private:
  Job* job_;
  Job::Use use_;
  bool is_queued_;
  Stream stream_;
};

}  // namespace weft::python

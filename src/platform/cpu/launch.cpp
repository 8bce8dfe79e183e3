// The part of the grid engine that kernels' launch code (dev/launch.hpp) calls.
#include <new>
#include <utility>

#include <weft/device/cpu_grid.hpp>

#include "src/base/status.hpp"
#include "src/platform/cpu/grid.hpp"
#include "src/platform/cpu/grid_queue.hpp"

namespace weft::cpu {
namespace {

// Only the standard containers inside throw, and only when memory is gone.
template <class Body>
auto without_exceptions(Body body) -> decltype(body()) try {
  return body();
} catch (const std::bad_alloc&) {
  return Status::error(Code::kOutOfMemory, "no memory left for a stream or the records of a grid");
}

}  // namespace

Status launch(unsigned blocks, unsigned threads, std::size_t shared_bytes, Entry entry,
              std::shared_ptr<const void> kernel, Stream stream) {
  return without_exceptions([&]() -> Status {
    ASSIGN_OR_RETURN(GridQueue* const queue, GridQueue::from(stream));
    ASSIGN_OR_RETURN(auto grid,
                     Grid::create({blocks, threads, shared_bytes}, entry, std::move(kernel)));
    return queue->launch(std::move(grid));
  });
}

Status synchronize(Stream stream) {
  return without_exceptions([&]() -> Status {
    ASSIGN_OR_RETURN(GridQueue* const queue, GridQueue::from(stream));
    queue->synchronize();
    return Status::ok();
  });
}

Status create_stream(Stream* stream) {
  return without_exceptions([=]() -> Status {
    *stream = new GridQueue;
    return Status::ok();
  });
}

Status destroy_stream(Stream stream) {
  if (stream == nullptr) {
    return Status::error(Code::kInvalidArgument,
                         "the default stream belongs to its host thread and cannot be destroyed");
  }
  ASSIGN_OR_RETURN(const GridQueue* const queue, GridQueue::from(stream));
  delete queue;
  return Status::ok();
}

}  // namespace weft::cpu

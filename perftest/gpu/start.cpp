// The cost of starting: the time from --since, before the job was launched, until a first kernel
// has ended. The floor does it without Weft.
#include <mutex>
#include <string>

#include <weft/weft.hpp>

#include "perftest/gpu/gpu.hpp"
#include "perftest/gpu/kernels.hpp"
#include "perftest/report.hpp"

namespace weft::perf::gpu {
namespace {

__global__ void nothing() {}

Status given(const Options& options, const Row& row) {
  if (options.since != 0) return Status::ok();
  return Status::error(Code::kInvalidArgument,
                       std::string(row.name) + " needs --since $(date +%s%N), of before the start");
}

void report(const Options& options, const Row& row, int npes, Reporter& out) {
  Line line;
  const double ns = ns_since(static_cast<long long>(options.since));
  line.row = &row;
  line.point.type = find_type(row.type);
  line.shape = std::to_string(npes) + (options.pes > 0 ? " threads" : " processes");
  line.measured.iters = line.measured.batch = 1;
  line.measured.time = {1, ns, ns, ns, ns};
  static std::mutex one_at_a_time;  // PEs may be threads
  const std::lock_guard lock(one_at_a_time);
  out.add(line);
}

Status of(cudaError_t error) {
  if (error == cudaSuccess) return Status::ok();
  return Status::error(Code::kInternal, std::string("CUDA: ") + cudaGetErrorString(error));
}

}  // namespace

Status start_weft(const Options& options, const Row& row, Reporter& out) {
  RETURN_IF_ERROR(given(options, row));
  ASSIGN_OR_RETURN(const weft::Options environment, weft::Options::from_environment());
  const auto first_put = [&](Runtime& rt) -> Status {
    if (rt.gpu() < 0)
      return Status::error(Code::kUnsupported, "this job has no GPU memory; weft-info says why");
    ASSIGN_OR_RETURN(const DeviceContext handle, rt.context().device());
    ASSIGN_OR_RETURN(Word* const word, rt.allocate_device<Word>(2));
    RETURN_IF_ERROR(rt.barrier());
    RETURN_IF_ERROR(dev::launch({}, FirstPut{handle, word}));
    RETURN_IF_ERROR(dev::synchronize());
    report(options, row, rt.npes(), out);
    return Status::ok();
  };
  if (options.pes > 0) return run_local(options.pes, first_put, environment);
  ASSIGN_OR_RETURN(Runtime rt, Runtime::create(environment));
  return first_put(rt);
}

Status start_floor(const Options& options, const Row& row, Reporter& out) {
  RETURN_IF_ERROR(given(options, row));
  int gpus = 0;
  RETURN_IF_ERROR(of(cudaGetDeviceCount(&gpus)));
  RETURN_IF_ERROR(of(cudaSetDevice(told("WEFT_PE", 0) % gpus)));
  RETURN_IF_ERROR(of(cudaFree(nullptr)));  // makes the context
  nothing<<<1, 1>>>();
  RETURN_IF_ERROR(of(cudaGetLastError()));
  RETURN_IF_ERROR(of(cudaDeviceSynchronize()));
  report(options, row, told("WEFT_NPES", 1), out);
  return Status::ok();
}

}  // namespace weft::perf::gpu

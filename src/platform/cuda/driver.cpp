#include "src/platform/cuda/driver.hpp"

#include <fmt/format.h>

#include <array>
#include <vector>

#include "src/base/status.hpp"
#include "src/platform/cuda/abi.hpp"

namespace weft::cuda {
namespace {

using abi::Error;
using gpu::Home;

constexpr const char* kLibrary = "libcuda.so.1";
constexpr const char* kRangeHandle = "cuMemGetHandleForAddressRange";

constexpr gpu::Words kWords{
    .platform = "cuda",
    .vendor = "NVIDIA",
    .runtime = "CUDA",
    .visible = "CUDA_VISIBLE_DEVICES",
    .choose = "cudaSetDevice",
    .holders = "nvidia-smi",
    .topology = "nvidia-smi topo -p2p r",
    .pass_in = "--gpus all",
    .sharable =
        "cudaMalloc (but not cudaMallocAsync), ncclMemAlloc, and cuMemCreate with "
        "CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR among its requestedHandleTypes",
    .module = "NVRM",
};

class CudaDriver final : public gpu::Driver {
 public:
  CudaDriver() : Driver(gpu::Kind::kCuda, kWords) {}
  Status find_own(const Dynlib& library);

  Status version(int ordinal, int& major, int& minor) const override {
    RETURN_IF_ERROR(ask(abi::Attribute::kComputeMajor, ordinal, major));
    return ask(abi::Attribute::kComputeMinor, ordinal, minor);
  }
  // Shared with the CUDA runtime, so that its streams and kernels are at home in it; retained for
  // the life of the process.
  Status open(int ordinal, Home& home) const override {
    abi::Context context = nullptr;
    RETURN_IF_ERROR(check(own_.retain_primary(&context, ordinal),
                          fmt::format("open the primary context of GPU {}", ordinal)));
    home = reinterpret_cast<Home>(context);
    return Status::ok();
  }
  abi::Outcome enter(Home home, Home& before) const override {
    before = 0;  // the driver keeps it, on a stack
    return own_.context_push(context(home));
  }
  abi::Outcome leave(Home) const override {
    abi::Context mine = nullptr;
    return own_.context_pop(&mine);
  }
  abi::Outcome settle(Home home) const override { return own_.context_set(context(home)); }
  Result<int> current() const override;

  Status describe_memory(int ordinal, abi::AllocationProperties& memory) const override {
    int rdma = 0;
    RETURN_IF_ERROR(ask(abi::Attribute::kRdmaOfVirtualMemory, ordinal, rdma));
    memory.type = abi::AllocationType::kPinned;
    memory.flags.gpu_direct_rdma = rdma != 0 ? 1 : 0;
    return Status::ok();
  }
  abi::Outcome allocate(abi::Pointer* memory, std::size_t bytes) const override {
    return own_.allocate(memory, bytes);
  }
  abi::Outcome allocate_host(void** memory, std::size_t bytes) const override {
    return call().host_alloc(memory, bytes, abi::kHostPortable | abi::kHostDeviceMapped);
  }
  bool registers_host(int ordinal) const override {
    int value = 0;
    return ask(abi::Attribute::kHostPointersOfRegistered, ordinal, value).is_ok() && value != 0;
  }
  abi::Outcome register_host(void* memory, std::size_t bytes) const override {
    return own_.host_register(memory, bytes, abi::kHostPortable | abi::kHostDeviceMapped);
  }
  abi::Outcome unregister_host(void* memory) const override { return own_.host_unregister(memory); }
  abi::Outcome import_fd(abi::Handle* handle, int fd) const override {
    void* const number = reinterpret_cast<void*>(static_cast<std::uintptr_t>(fd));
    return call().import_handle(handle, number, abi::HandleType::kPosixFd);
  }
  Status export_dmabuf(Range pages, int& file, std::uint64_t& offset) const override {
    if (own_.range_handle.address == nullptr) return no_dmabuf(kRangeHandle);
    offset = 0;
    return check(own_.range_handle(&file, abi::pointer(pages.base), pages.bytes, abi::kDmabuf, 0),
                 "export GPU memory as a dmabuf");
  }
  abi::Outcome reach(Home peer) const override { return own_.context_reach(context(peer), 0); }
  abi::Outcome copy(void* dst, const void* src, std::size_t bytes, Stream stream) const override {
    return own_.copy(abi::pointer(dst), abi::pointer(src), bytes, stream);
  }
  Status has_word_steps(int ordinal, bool& has) const override {
    int value = 0;
    RETURN_IF_ERROR(ask(abi::Attribute::kStreamWords, ordinal, value));
    has = value != 0;
    return Status::ok();
  }
  abi::Outcome word_steps(std::span<const WordStep> steps, Stream stream) const override;

 protected:
  unsigned type_of_gpu_memory() const override { return abi::kGpuMemory; }
  std::string_view error_name(Error error) const override {
    const char* name = nullptr;
    return own_.error_name(error, &name).error == Error::kSuccess && name != nullptr ? name : "";
  }
  std::string_view error_text(Error error) const override {
    const char* text = nullptr;
    return own_.error_text(error, &text).error == Error::kSuccess && text != nullptr ? text : "";
  }
  std::string_view how_to_mend(Error error) const override;

 private:
  static abi::Context context(Home home) { return reinterpret_cast<abi::Context>(home); }
  Status ask(abi::Attribute attribute, int ordinal, int& value) const {
    return check(own_.device_attribute(&value, attribute, ordinal), "ask what a GPU can do");
  }

  abi::Own own_;
};

Status CudaDriver::find_own(const Dynlib& library) {
  RETURN_IF_ERROR(find_all(library));
#define WEFT_ROW(member, symbol, ...) RETURN_IF_ERROR(find(library, #symbol, own_.member));
  WEFT_CUDA_DRIVER_FUNCTIONS(WEFT_ROW)
#undef WEFT_ROW
  return find_if_there(library, kRangeHandle, own_.range_handle);
}

Result<int> CudaDriver::current() const {
  abi::Device device = -1;
  const abi::Outcome asked = own_.context_device(&device);
  // None is current, or one that was reset.
  if (asked.error == Error::kInvalidContext || asked.error == Error::kContextIsDestroyed) return -1;
  RETURN_IF_ERROR(check(asked, "find the current GPU"));
  return device;
}

abi::Outcome CudaDriver::word_steps(std::span<const WordStep> steps, Stream stream) const {
  std::vector<abi::Step> all;
  for (const WordStep& step : steps) {
    const bool stores = step.kind == WordStep::Kind::kStore;
    abi::Step one{};
    one.type = stores ? abi::StepType::kWrite64 : abi::StepType::kWait64;
    one.word = abi::pointer(step.word);
    one.value = step.value;
    one.flags = step.kind == WordStep::Kind::kWaitEqual ? abi::kWaitEqual : abi::kWaitAtLeast;
    if (stores) one.flags = 0;
    all.push_back(one);
  }
  return own_.stream_steps(stream, static_cast<unsigned>(all.size()), all.data(), 0);
}

std::string_view CudaDriver::how_to_mend(Error error) const {
  switch (error) {
    case Error::kStubLibrary:
      return "This file only serves to link programs: take the toolkit's folder stubs out of "
             "LD_LIBRARY_PATH";
    case Error::kInvalidContext:
    case Error::kContextIsDestroyed: return "Was the GPU reset meanwhile (cudaDeviceReset)?";
    case Error::kIllegalAddress:
    case Error::kLaunchTimeout:
    case Error::kLaunchFailed:
      return "A kernel that ran before has failed, and with it all that this process has on the "
             "GPU: compute-sanitizer finds the kernel";
    case Error::kSystemNotReady: return "Is the service nvidia-fabricmanager running?";
    case Error::kDriverMismatch:
      return "The library and the kernel module are of different versions: restart the machine "
             "after an update of the driver, or update the container";
    default: return "";
  }
}

}  // namespace

Result<std::unique_ptr<const gpu::Driver>> load(const std::string& file) {
  const std::array names{file.empty() ? std::string(kLibrary) : file};
  const auto found = Dynlib::open(names);
  if (!found) {
    return Status::error(
        Code::kUnsupported,
        fmt::format("no NVIDIA driver: {} cannot be loaded: {}. Install NVIDIA's driver; in a "
                    "container, pass the GPUs in (--gpus all)",
                    names[0], found.status().text()));
  }
  auto driver = std::make_unique<CudaDriver>();
  if (const Status all = driver->find_own(*found); !all.is_ok()) {
    return Status::error(Code::kUnsupported,
                         fmt::format("the NVIDIA driver is too old: {}. Weft needs a driver of "
                                     "CUDA 11.7 or later; nvidia-smi shows which one this is",
                                     all.text()));
  }
  return std::unique_ptr<const gpu::Driver>(std::move(driver));
}

bool is_loaded() {
  const std::array names{std::string(kLibrary)};
  return Dynlib::loaded(names).is_ok();
}

}  // namespace weft::cuda

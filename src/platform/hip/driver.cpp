#include "src/platform/hip/driver.hpp"

#include <fmt/format.h>

#include <vector>

#include "src/base/status.hpp"
#include "src/platform/hip/abi.hpp"

namespace weft::hip {
namespace {

using abi::Error;
using gpu::Home;

constexpr gpu::Words kWords{
    .platform = "hip",
    .vendor = "AMD",
    .runtime = "HIP",
    .visible = "HIP_VISIBLE_DEVICES and ROCR_VISIBLE_DEVICES",
    .choose = "hipSetDevice",
    .holders = "rocm-smi",
    .topology = "rocm-smi --showtopoaccess",
    .pass_in = "--device=/dev/kfd --device=/dev/dri",
    .sharable =
        "hipMalloc (but not hipMallocAsync), and hipMemCreate with "
        "hipMemHandleTypePosixFileDescriptor as its handle type",
    .module = "amdgpu",
};

constexpr const char* kExportDmabuf = "hsa_amd_portable_export_dmabuf";

const std::vector<std::string>& file_names() {
  static const auto* const names = new std::vector<std::string>{
      "libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"};
  return *names;
}

// The program's own, if it has one: two versions in one process would not know each other's
// streams.
Result<Dynlib> open_library(const std::string& file) {
  if (!file.empty()) return Dynlib::open({&file, 1});
  auto loaded = Dynlib::loaded(file_names());
  return loaded ? std::move(loaded) : Dynlib::open(file_names());
}

class HipDriver final : public gpu::Driver {
 public:
  HipDriver() : Driver(gpu::Kind::kHip, kWords) {}
  Status find_own(const Dynlib& library);

  Status version(int ordinal, int& major, int& minor) const override {
    return check(own_.device_version(&major, &minor, ordinal), "ask what a GPU can do");
  }
  Status open(int ordinal, Home& home) const override {
    home = static_cast<Home>(ordinal);
    return Status::ok();
  }
  abi::Outcome enter(Home home, Home& before) const override {
    abi::Device device = 0;
    const abi::Outcome asked = own_.device_get(&device);
    if (asked.error != Error::kSuccess) return asked;
    before = static_cast<Home>(device);
    return settle(home);
  }
  abi::Outcome leave(Home before) const override { return settle(before); }
  abi::Outcome settle(Home home) const override {
    return own_.device_set(static_cast<abi::Device>(home));
  }
  // GPU 0 is current in every thread from the beginning, so it is nobody's choice.
  Result<int> current() const override {
    abi::Device device = 0;
    RETURN_IF_ERROR(check(own_.device_get(&device), "find the current GPU"));
    return device == 0 ? -1 : device;
  }

  // Uncached, since the L2 cache of an AMD GPU does not see what other GPUs store to the memory
  // behind it: of memory that is cached there ("coarse-grained", what kPinned gives), a kernel that
  // polls reads the same old line until it ends. ROCm's "Coherence control" and LLVM's memory model
  // of gfx90a and gfx942 promise coherence during a kernel for fine-grained and uncached memory
  // alone. A ROCm that cannot do that for mapped memory (before 7.2) refuses the type, and the
  // memory goes by allocate().
  Status describe_memory(int, abi::AllocationProperties& memory) const override {
    if (version_ < abi::kHasUncached) {
      return Status::error(Code::kUnsupported,
                           fmt::format("HIP {} cannot map uncached memory; ROCm 7 can", version_));
    }
    memory.type = abi::AllocationType::kUncached;
    return Status::ok();
  }
  // Fine-grained where ROCm does not know uncached yet.
  abi::Outcome allocate(abi::Pointer* memory, std::size_t bytes) const override {
    void* found = nullptr;
    abi::Outcome made = own_.allocate(&found, bytes, abi::kDeviceUncached);
    if (made.error == Error::kInvalidValue)
      made = own_.allocate(&found, bytes, abi::kDeviceFinegrained);
    *memory = abi::pointer(found);
    return made;
  }
  // Coherent whatever HIP_HOST_COHERENT says: host threads and kernels poll it.
  abi::Outcome allocate_host(void** memory, std::size_t bytes) const override {
    return call().host_alloc(memory, bytes,
                             abi::kHostPortable | abi::kHostDeviceMapped | abi::kHostCoherent);
  }
  abi::Outcome import_fd(abi::Handle* handle, int fd) const override {
    void* const number = reinterpret_cast<void*>(static_cast<std::uintptr_t>(fd));
    return call().import_handle(handle, version_ >= abi::kTakesFdByValue ? number : &fd,
                                abi::HandleType::kPosixFd);
  }
  Status export_dmabuf(Range pages, int& file, std::uint64_t& offset) const override {
    if (own_.export_dmabuf.address == nullptr) return no_dmabuf(kExportDmabuf);
    const auto made = own_.export_dmabuf(pages.base, pages.bytes, &file, &offset);
    if (made.error == Error::kSuccess) return Status::ok();
    return Status::error(
        Code::kUnsupported,
        fmt::format("cannot export GPU memory as a dmabuf: {}: error {:#x} of the "
                    "HSA runtime. Linux from 5.12 on, with CONFIG_DMABUF_MOVE_NOTIFY "
                    "and CONFIG_PCI_P2PDMA, can",
                    made.function, static_cast<unsigned>(made.error)));
  }
  abi::Outcome reach(Home peer) const override {
    return own_.device_reach(static_cast<abi::Device>(peer), 0);
  }
  abi::Outcome copy(void* dst, const void* src, std::size_t bytes, Stream stream) const override {
    return own_.copy(dst, src, bytes, abi::CopyKind::kDefault, stream);
  }
  // HIP's streams wait for words of memory that is made for it only (hipMallocSignalMemory), one
  // word each: kernels do that work instead.
  Status has_word_steps(int, bool& has) const override {
    has = false;
    return Status::ok();
  }
  abi::Outcome word_steps(std::span<const WordStep>, Stream) const override {
    return {Error::kNotSupported, "hipStreamWaitValue64"};
  }

 protected:
  unsigned type_of_gpu_memory() const override {
    return version_ >= abi::kCountsTypesFromOne ? 2 : 1;
  }
  std::string_view error_name(Error error) const override { return text(own_.error_name(error)); }
  std::string_view error_text(Error error) const override { return text(own_.error_text(error)); }
  std::string_view how_to_mend(Error error) const override;

 private:
  static std::string_view text(const char* text) { return text == nullptr ? "" : text; }

  abi::Own own_;
  int version_ = 0;  // 70100000 and up: ROCm 7.1
};

Status HipDriver::find_own(const Dynlib& library) {
  RETURN_IF_ERROR(find_all(library));
#define WEFT_ROW(member, symbol, ...) RETURN_IF_ERROR(find(library, #symbol, own_.member));
  WEFT_HIP_DRIVER_FUNCTIONS(WEFT_ROW)
#undef WEFT_ROW
  RETURN_IF_ERROR(find_if_there(library, kExportDmabuf, own_.export_dmabuf));
  RETURN_IF_ERROR(library.find("hipGetErrorName", own_.error_name));
  RETURN_IF_ERROR(library.find("hipGetErrorString", own_.error_text));
  return check(own_.runtime_version(&version_), "ask for HIP's version");
}

std::string_view HipDriver::how_to_mend(Error error) const {
  switch (error) {
    case Error::kInsufficientDriver:
      return "ROCm is newer than the kernel's module amdgpu: update the module, or take an older "
             "ROCm";
    case Error::kInvalidDevice:  // what hipInit() says where there is none
      return "No AMD GPU is visible to this process, or not that one: look at HIP_VISIBLE_DEVICES "
             "and ROCR_VISIBLE_DEVICES, at what rocm-smi lists, and in a container pass the GPUs "
             "in "
             "(--device=/dev/kfd --device=/dev/dri)";
    case Error::kInvalidContext:
    case Error::kContextIsDestroyed: return "Was the GPU reset meanwhile (hipDeviceReset)?";
    case Error::kIllegalAddress:
    case Error::kLaunchTimeout:
    case Error::kLaunchFailed:
      return "A kernel that ran before has failed, and with it all that this process has on the "
             "GPU: AMD_LOG_LEVEL=3 shows which";
    default: return "";
  }
}

}  // namespace

Result<std::unique_ptr<const gpu::Driver>> load(const std::string& file) {
  const auto found = open_library(file);
  if (!found) {
    return Status::error(
        Code::kUnsupported,
        fmt::format("no AMD driver: {} cannot be loaded: {}. Install AMD's ROCm runtime; in a "
                    "container, pass the GPUs in ({})",
                    file.empty() ? file_names().front() : file, found.status().text(),
                    kWords.pass_in));
  }
  auto driver = std::make_unique<HipDriver>();
  if (const Status all = driver->find_own(*found); !all.is_ok()) {
    return Status::error(Code::kUnsupported,
                         fmt::format("the AMD driver is too old: {}. Weft needs ROCm 5.1 or later; "
                                     "{} is the library",
                                     all.text(), found->path()));
  }
  return std::unique_ptr<const gpu::Driver>(std::move(driver));
}

bool is_loaded() { return Dynlib::loaded(file_names()).is_ok(); }

}  // namespace weft::hip

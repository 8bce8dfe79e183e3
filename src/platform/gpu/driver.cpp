#include "src/platform/gpu/driver.hpp"

#include <fmt/format.h>

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <span>

#include "src/base/dynlib.hpp"
#include "src/base/status.hpp"

namespace weft::gpu {
namespace {

using abi::Error;

constexpr std::string_view kForked =
    "CUDA was started before this process was forked, and a child of fork() cannot use it. Fork "
    "before the first use of a GPU, or start the child as a new program (exec)";

std::string_view how_to_mend(Error error) {
  switch (error) {
    case Error::kOutOfMemory:
      return "nvidia-smi shows who holds the GPU's memory; ask for less, or lower "
             "WEFT_GPU_HEAP_SIZE";
    case Error::kNotInitialized: return kForked;
    case Error::kDeinitialized:
      return "The process is ending; release memory and streams before main() returns";
    case Error::kStubLibrary:
      return "This file only serves to link programs: take the toolkit's folder stubs out of "
             "LD_LIBRARY_PATH";
    case Error::kNoDevice:
      return "No NVIDIA GPU is visible to this process: look at CUDA_VISIBLE_DEVICES, at what "
             "nvidia-smi lists, and in a container pass the GPUs in (--gpus all)";
    case Error::kPeerAccessUnsupported:
    case Error::kInvalidDevice: return "nvidia-smi topo -p2p r shows which GPUs reach each other";
    case Error::kOperatingSystem:
    case Error::kNotPermitted:
    case Error::kNotSupported:
      return "A sandbox or container (gVisor, seccomp, a virtual GPU) may forbid it, or the limit "
             "on open files may be met (ulimit -n)";
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
    default: return "dmesg may hold a line of NVRM that says more";
  }
}

Code code_of(Error error) {
  switch (error) {
    case Error::kInvalidValue:
    case Error::kInvalidHandle: return Code::kInvalidArgument;
    case Error::kOutOfMemory: return Code::kOutOfMemory;
    case Error::kNotInitialized:
    case Error::kStubLibrary:
    case Error::kNoDevice:
    case Error::kInvalidDevice:
    case Error::kPeerAccessUnsupported:
    case Error::kNotPermitted:
    case Error::kNotSupported:
    case Error::kSystemNotReady:
    case Error::kDriverMismatch: return Code::kUnsupported;
    default: return Code::kIo;
  }
}

Status find_all(const Dynlib& library, abi::Table& table) {
#define WEFT_ROW(member, symbol, ...) RETURN_IF_ERROR(library.find(#symbol, table.member));
  WEFT_CUDA_DRIVER_FUNCTIONS(WEFT_ROW)
#undef WEFT_ROW
  return Status::ok();
}

}  // namespace

Result<const Driver*> Driver::get(const std::string& library) {
  static std::mutex mutex;
  static auto* const loaded = new std::map<std::string, const Driver*>;
  const std::lock_guard lock(mutex);
  const Driver*& driver = (*loaded)[library];
  if (driver == nullptr) {
    ASSIGN_OR_RETURN(driver, load(library));
  }
  RETURN_IF_ERROR(driver->check_process());
  return driver;
}

Result<const Driver*> Driver::load(const std::string& library) {
  const std::array names{library.empty() ? std::string("libcuda.so.1") : library};
  const auto found = Dynlib::open(names);
  if (!found) {
    return Status::error(
        Code::kUnsupported,
        fmt::format("no NVIDIA driver: {} cannot be loaded: {}. Install NVIDIA's driver; in a "
                    "container, pass the GPUs in (--gpus all)",
                    names[0], found.status().text()));
  }
  abi::Table table{};
  if (const Status all = find_all(*found, table); !all.is_ok()) {
    return Status::error(Code::kUnsupported,
                         fmt::format("the NVIDIA driver is too old: {}. Weft needs a driver of "
                                     "CUDA 11.7 or later; nvidia-smi shows which one this is",
                                     all.text()));
  }
  // What tests/support/fake_gpu has.
  const bool runs_on_host = found->has("weft_runs_on_host");
  std::unique_ptr<const Driver> driver(new Driver(table, runs_on_host));
  RETURN_IF_ERROR(driver->check(table.init(0), "cuInit", "start the NVIDIA driver"));
  return driver.release();
}

Status Driver::check_process() const {
  if (process_ == process_uuid()) return Status::ok();
  return Status::error(Code::kUnsupported, std::string(kForked));
}

Status Driver::failure(Error error, std::string_view function, std::string_view what) const {
  const char* name = nullptr;
  const char* text = nullptr;
  if (table_.error_name(error, &name) != Error::kSuccess || name == nullptr) name = "unknown error";
  if (table_.error_text(error, &text) != Error::kSuccess || text == nullptr) text = "no text";
  return Status::error(code_of(error),
                       fmt::format("cannot {}: {}: {} ({}): {}. {}", what, function, name,
                                   static_cast<unsigned>(error), text, how_to_mend(error)));
}

}  // namespace weft::gpu

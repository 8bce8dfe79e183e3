#include "src/platform/gpu/driver.hpp"

#include <fmt/format.h>

#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "src/base/status.hpp"
#include "src/platform/cuda/driver.hpp"
#include "src/platform/hip/driver.hpp"

namespace weft::gpu {
namespace {

using abi::Error;

Code code_of(Error error) {
  switch (error) {
    case Error::kInvalidValue:
    case Error::kInvalidHandle: return Code::kInvalidArgument;
    case Error::kOutOfMemory: return Code::kOutOfMemory;
    case Error::kNotInitialized:
    case Error::kStubLibrary:
    case Error::kInsufficientDriver:
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

// Where the vendor knows nothing better.
std::string mend(Error error, const Words& words) {
  switch (error) {
    case Error::kOutOfMemory:
      return fmt::format(
          "{} shows who holds the GPU's memory; ask for less, or lower WEFT_GPU_HEAP_SIZE",
          words.holders);
    case Error::kDeinitialized:
      return "The process is ending; release memory and streams before main() returns";
    case Error::kNoDevice:
      return fmt::format(
          "No {} GPU is visible to this process: look at {}, at what {} lists, and in a container "
          "pass the GPUs in ({})",
          words.vendor, words.visible, words.holders, words.pass_in);
    case Error::kPeerAccessUnsupported:
    case Error::kInvalidDevice:
      return fmt::format("{} shows which GPUs reach each other", words.topology);
    case Error::kOperatingSystem:
    case Error::kNotPermitted:
    case Error::kNotSupported:
      return "A sandbox or container (gVisor, seccomp, a virtual GPU) may forbid it, or the limit "
             "on open files may be met (ulimit -n)";
    default: return fmt::format("dmesg may hold a line of {} that says more", words.module);
  }
}

}  // namespace

Result<const Driver*> Driver::get(const Library& library) {
  static std::mutex mutex;
  static auto* const loaded = new std::map<std::pair<Kind, std::string>, const Driver*>;
  const std::lock_guard lock(mutex);
  const Driver*& driver = (*loaded)[{library.kind, library.file}];
  if (driver == nullptr) {
    ASSIGN_OR_RETURN(auto fresh, library.kind == Kind::kCuda ? cuda::load(library.file)
                                                             : hip::load(library.file));
    RETURN_IF_ERROR(fresh->check(fresh->call().init(0),
                                 fmt::format("start the {} driver", fresh->words().vendor)));
    driver = fresh.release();
  }
  RETURN_IF_ERROR(driver->check_process());
  return driver;
}

Status Driver::find_all(const Dynlib& library) {
  const bool is_hip = kind_ == Kind::kHip;
#define WEFT_ROW(member, cuda, hip, ...) \
  RETURN_IF_ERROR(find(library, is_hip ? #hip : #cuda, table_.member));
  WEFT_GPU_DRIVER_FUNCTIONS(WEFT_ROW)
#undef WEFT_ROW
  return find_if_there(library, "weft_host_function", host_function_);
}

Status Driver::no_dmabuf(std::string_view function) const {
  return Status::error(Code::kUnsupported,
                       fmt::format("the {} driver has no {}, by which it would export memory as a "
                                   "dmabuf; a newer one has",
                                   words_.vendor, function));
}

std::string Driver::after_fork() const {
  return fmt::format(
      "{} was started before this process was forked, and a child of fork() cannot use it. Fork "
      "before the first use of a GPU, or start the child as a new program (exec)",
      words_.runtime);
}

Status Driver::check_process() const {
  if (process_ == process_uuid()) return Status::ok();
  return Status::error(Code::kUnsupported, after_fork());
}

Result<int> Driver::count() const {
  int gpus = 0;
  RETURN_IF_ERROR(check(call().device_count(&gpus), "count GPUs"));
  return gpus;
}

bool Driver::is_managed(const void* address) const {
  std::uint64_t managed = 0;  // drivers write a byte or an int
  const abi::Outcome asked =
      call().pointer_attribute(&managed, abi::PointerAttribute::kIsManaged, abi::pointer(address));
  return asked.error == Error::kSuccess && managed != 0;
}

std::uint64_t Driver::buffer_id(const void* address) const {
  std::uint64_t id = 0;
  const abi::Outcome asked =
      call().pointer_attribute(&id, abi::PointerAttribute::kBufferId, abi::pointer(address));
  return asked.error == Error::kSuccess ? id : 0;
}

// Memory that the driver does not know at all is the host's.
int Driver::owner_of(const void* address) const {
  const auto ask = [&](abi::PointerAttribute attribute, void* value) {
    return call().pointer_attribute(value, attribute, abi::pointer(address)).error ==
           Error::kSuccess;
  };
  unsigned type = 0;
  int ordinal = -1;
  if (!ask(abi::PointerAttribute::kMemoryType, &type)) return -1;
  if (type != type_of_gpu_memory() && !is_managed(address)) return -1;
  return ask(abi::PointerAttribute::kOrdinal, &ordinal) ? ordinal : -1;
}

Status Driver::failure(abi::Outcome outcome, std::string_view what) const {
  const auto [error, function] = outcome;
  const auto known = [](std::string_view text, std::string_view otherwise) {
    return text.empty() ? otherwise : text;
  };
  std::string help(how_to_mend(error));
  if (help.empty()) help = error == Error::kNotInitialized ? after_fork() : mend(error, words_);
  return Status::error(code_of(error), fmt::format("cannot {}: {}: {} ({}): {}. {}", what, function,
                                                   known(error_name(error), "unknown error"),
                                                   static_cast<unsigned>(error),
                                                   known(error_text(error), "no text"), help));
}

}  // namespace weft::gpu

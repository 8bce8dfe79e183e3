// A vendor's driver: its library, loaded and started once per process, and what it does otherwise
// than the other's.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include <weft/result.hpp>

#include "src/base/dynlib.hpp"
#include "src/platform/gpu/abi.hpp"
#include "src/platform/gpu/gpu.hpp"

namespace weft::gpu {

// How messages speak of a vendor's things.
struct Words {
  std::string_view platform;  // "cuda"
  std::string_view vendor;    // "NVIDIA"
  std::string_view runtime;   // "CUDA"
  std::string_view visible;   // the variable that hides GPUs
  std::string_view choose;    // the call that makes a GPU current
  std::string_view holders;   // the tool that shows who holds memory
  std::string_view topology;  // the command that shows which GPUs reach each other
  std::string_view pass_in;   // what gives a container GPUs
  std::string_view sharable;  // what memory of a program's own other processes can map
  std::string_view module;    // whose lines the kernel's log holds
};

// A GPU's home in this process: CUDA's primary context, HIP's ordinal.
using Home = std::uintptr_t;

class Driver {
 public:
  using HostFunction = abi::Error(Stream stream, void (*function)(void*), void* argument,
                                  void (*release)(void*));

  // A driver that was started is kept for the process; a failure is tried again.
  static Result<const Driver*> get(const Library& library);
  virtual ~Driver() = default;

  const abi::Table& call() const { return table_; }
  const Words& words() const { return words_; }
  Kind kind() const { return kind_; }
  // For a driver without GPUs, a test's: kernels of the host's own code run in its streams instead.
  // Null for all others.
  const abi::Entry<HostFunction>* on_host() const {
    return host_function_.address == nullptr ? nullptr : &host_function_;
  }

  // The failure of a call, in the driver's words, and how to mend it: "cannot map memory: cuMemMap:
  // CUDA_ERROR_... (...). ...". ok for kSuccess.
  Status check(abi::Outcome outcome, std::string_view what) const {
    return outcome.error == abi::Error::kSuccess ? Status::ok() : failure(outcome, what);
  }
  // The driver does not survive fork(): an error in a child of the process that loaded it.
  Status check_process() const;
  // How many GPUs it shows to this process.
  Result<int> count() const;
  // The GPU that has the memory at `address`, managed or not; -1: none, it is the host's or
  // nothing. In a Scope, as the next.
  int owner_of(const void* address) const;
  // The id that tells the allocation at `address` from one that comes there later; 0: there is
  // none, or the driver does not say.
  std::uint64_t buffer_id(const void* address) const;
  // Memory that the driver moves between GPUs and the host.
  bool is_managed(const void* address) const;

  // --- what the vendors do in their own ways -----------------------------------------------------

  virtual Status version(int ordinal, int& major, int& minor) const = 0;  // of its instructions
  virtual Status open(int ordinal, Home& home) const = 0;
  // Makes the GPU current in the calling thread; leave() takes what was there `before`.
  virtual abi::Outcome enter(Home home, Home& before) const = 0;
  virtual abi::Outcome leave(Home before) const = 0;
  virtual abi::Outcome settle(Home home) const = 0;  // for good
  virtual Result<int> current() const = 0;           // -1: none, or not known

  // The kind of memory that kernels of other GPUs store to while mine poll it: to create, and to
  // allocate.
  virtual Status describe_memory(int ordinal, abi::AllocationProperties& memory) const = 0;
  virtual abi::Outcome allocate(abi::Pointer* memory, std::size_t bytes) const = 0;
  virtual abi::Outcome allocate_host(void** memory, std::size_t bytes) const = 0;
  // Whether kernels take pages of this process by their addresses once they are registered; else
  // they take allocate_host() only.
  virtual bool registers_host(int) const { return false; }
  virtual abi::Outcome register_host(void*, std::size_t) const {
    return {abi::Error::kNotSupported, "register_host"};
  }
  virtual abi::Outcome unregister_host(void*) const {
    return {abi::Error::kNotSupported, "unregister_host"};
  }
  virtual abi::Outcome import_fd(abi::Handle* handle, int fd) const = 0;
  // A file for whole pages of a GPU's memory, and where in it they begin.
  virtual Status export_dmabuf(Range pages, int& file, std::uint64_t& offset) const = 0;
  // Lets the current GPU reach memory of that one that was not mapped for it.
  virtual abi::Outcome reach(Home peer) const = 0;
  virtual abi::Outcome copy(void* dst, const void* src, std::size_t bytes, Stream stream) const = 0;
  // Whether streams themselves store to words of any memory and wait for them, without a kernel.
  virtual Status has_word_steps(int ordinal, bool& has) const = 0;
  virtual abi::Outcome word_steps(std::span<const WordStep> steps, Stream stream) const = 0;

 protected:
  virtual unsigned type_of_gpu_memory() const = 0;  // as PointerAttribute::kMemoryType has it
  Driver(Kind kind, const Words& words) : kind_(kind), words_(words), process_(process_uuid()) {}
  virtual std::string_view error_name(abi::Error error) const = 0;  // "": unknown
  virtual std::string_view error_text(abi::Error error) const = 0;
  virtual std::string_view how_to_mend(abi::Error error) const = 0;  // "": nothing special
  std::string after_fork() const;

  template <class Signature>
  static Status find(const Dynlib& library, const char* name, abi::Entry<Signature>& function) {
    function.name = name;
    return library.find(name, function.address);
  }

  // One that older drivers have not; it then has no address.
  template <class Signature>
  static Status find_if_there(const Dynlib& library, const char* name,
                              abi::Entry<Signature>& function) {
    return library.has(name) ? find(library, name, function) : Status::ok();
  }
  // The error of a driver without export_dmabuf().
  Status no_dmabuf(std::string_view function) const;
  Status find_all(const Dynlib& library);  // but for the vendor's own
  abi::Table table_;

 private:
  Status failure(abi::Outcome outcome, std::string_view what) const;

  const Kind kind_;
  const Words& words_;
  const Uuid process_;
  abi::Entry<HostFunction> host_function_;
};

}  // namespace weft::gpu

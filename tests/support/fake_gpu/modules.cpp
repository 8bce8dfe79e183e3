// Modules and libraries, as far as programs ask them for a symbol and write to it: each is a
// test::FakeGpuModule of the test's own.
#include <cstddef>
#include <cstring>

#include "tests/support/fake_gpu/control.hpp"
#include "tests/support/fake_gpu/state.hpp"

namespace weft::gpu::abi {
namespace {

Error find(Pointer* at, std::size_t* bytes, const void* handle, const char* name) {
  constexpr auto kNotFound = static_cast<Error>(500);
  const auto* const module = static_cast<const test::FakeGpuModule*>(handle);
  if (std::strcmp(module->symbol, name) != 0) return kNotFound;
  *at = pointer(module->address);
  *bytes = module->bytes;
  return Error::kSuccess;
}

}  // namespace

#define FAKE_DRIVER extern "C" __attribute__((visibility("default")))

FAKE_DRIVER Error cuModuleGetGlobal_v2(Pointer* at, std::size_t* bytes, void* module,
                                       const char* name) {
  return find(at, bytes, module, name);
}

FAKE_DRIVER Error cuLibraryGetGlobal(Pointer* at, std::size_t* bytes, void* library,
                                     const char* name) {
  return find(at, bytes, library, name);
}

FAKE_DRIVER Error cuMemcpyHtoD_v2(Pointer dst, const void* src, std::size_t bytes) {
  std::memcpy(reinterpret_cast<void*>(static_cast<std::uintptr_t>(dst)), src, bytes);
  return Error::kSuccess;
}

}  // namespace weft::gpu::abi

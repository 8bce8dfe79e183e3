// No code for a GPU runs here: Weft gives kernels to streams as functions of the host.
#include "tests/support/fake_gpu/state.hpp"

extern "C" __attribute__((visibility("default"))) const bool weft_runs_on_host = true;

namespace weft::gpu::abi {

extern "C" Error cuModuleLoadData(Module*, const void*) { return Error::kNotSupported; }

extern "C" Error cuModuleGetFunction(Function*, Module, const char*) {
  return Error::kNotSupported;
}

extern "C" Error cuLaunchKernel(Function, unsigned, unsigned, unsigned, unsigned, unsigned,
                                unsigned, unsigned, Stream, void**, void**) {
  return Error::kNotSupported;
}

}  // namespace weft::gpu::abi

// No code for a GPU runs here.
#include "tests/support/fake_gpu/state.hpp"

namespace weft::gpu::abi {

extern "C" Error FAKE_NAME(cuModuleLoadData, hipModuleLoadData)(Module*, const void*) {
  return Error::kNotSupported;
}

extern "C" Error FAKE_NAME(cuModuleGetFunction, hipModuleGetFunction)(Function*, Module,
                                                                      const char*) {
  return Error::kNotSupported;
}

extern "C" Error FAKE_NAME(cuLaunchKernel, hipModuleLaunchKernel)(Function, unsigned, unsigned,
                                                                  unsigned, unsigned, unsigned,
                                                                  unsigned, unsigned, Stream,
                                                                  void**, void**) {
  return Error::kNotSupported;
}

}  // namespace weft::gpu::abi

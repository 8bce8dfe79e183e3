// StreamCapture: a program's own capture of a stream, by the driver, real or fake.
#pragma once

#include <cstdlib>
#include <string>
#include <vector>

#include "src/base/dynlib.hpp"
#include "src/platform/gpu/abi.hpp"
#include "src/platform/gpu/gpu.hpp"

namespace weft {

class StreamCapture {
 public:
  using Mode = gpu::abi::CaptureMode;
  // The caller's GPU is current.
  StreamCapture(const gpu::Library& library, Stream stream, Mode mode = Mode::kGlobal)
      : names_(names_of(library)), is_hip_(library.kind == gpu::Kind::kHip), stream_(stream) {
    gpu::abi::Error (*begin)(Stream, Mode) = nullptr;
    find(is_hip_ ? "hipStreamBeginCapture" : "cuStreamBeginCapture_v2", begin);
    if (begin(stream, mode) != gpu::abi::Error::kSuccess) std::abort();
  }
  StreamCapture(const StreamCapture&) = delete;
  StreamCapture& operator=(const StreamCapture&) = delete;
  ~StreamCapture() { end(); }

  // Whether it is whole; once.
  bool end() {
    if (stream_ == nullptr) return false;
    gpu::abi::Error (*end)(Stream, void**) = nullptr;
    gpu::abi::Error (*destroy)(void*) = nullptr;
    find(is_hip_ ? "hipStreamEndCapture" : "cuStreamEndCapture", end);
    find(is_hip_ ? "hipGraphDestroy" : "cuGraphDestroy", destroy);
    void* graph = nullptr;
    const bool is_whole = end(stream_, &graph) == gpu::abi::Error::kSuccess;
    stream_ = nullptr;
    if (graph != nullptr) destroy(graph);
    return is_whole;
  }

 private:
  static std::vector<std::string> names_of(const gpu::Library& library) {
    if (!library.file.empty()) return {library.file};
    return {library.kind == gpu::Kind::kHip ? "libamdhip64.so" : "libcuda.so.1"};
  }
  template <class Function>
  void find(const char* name, Function*& function) const {
    const auto driver = Dynlib::open(names_);
    if (!driver || !driver->find(name, function).is_ok()) std::abort();
  }

  const std::vector<std::string> names_;
  const bool is_hip_;
  Stream stream_;
};

}  // namespace weft

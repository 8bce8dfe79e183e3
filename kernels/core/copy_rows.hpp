// Rows of a matrix from where they lie to where they lie otherwise, as a kernel.
#pragma once

#include <cstddef>

#include <weft/status.hpp>
#include <weft/stream.hpp>

namespace weft::kernels {

struct RowsToCopy {
  void* to = nullptr;
  const void* from = nullptr;
  std::size_t rows = 0, row_bytes = 0, to_stride = 0, from_stride = 0;  // strides in bytes
};

// One per target, from one source (copy_rows.cpp). Without rows or bytes nothing at all.
using CopyRows = Status(const RowsToCopy& rows, Stream stream);
namespace cpu {
CopyRows copy_rows;
}
namespace cuda {
CopyRows copy_rows;
}

inline Status copy_rows([[maybe_unused]] bool gpu, Stream stream, const RowsToCopy& rows) {
#if defined(WEFT_HAS_CUDA_KERNELS)
  if (gpu) return cuda::copy_rows(rows, stream);
#endif
  return cpu::copy_rows(rows, stream);
}

}  // namespace weft::kernels

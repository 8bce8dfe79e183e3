#include "kernels/core/copy_rows.hpp"

#include <weft/device.hpp>

namespace weft::kernels {
namespace WEFT_TARGET {
namespace {

constexpr unsigned kThreads = WEFT_TARGET_CPU ? 1 : 256;
constexpr std::size_t kMostBlocks = WEFT_TARGET_CPU ? 1 : 264;  // two to an SM

struct Copy {
  [[maybe_unused]] static constexpr unsigned kMostThreads = kThreads;  // launch() asks
  RowsToCopy m;
  WEFT_DEVICE void operator()() const {
    for (std::size_t row = dev::block_rank(); row < m.rows; row += dev::grid_size())
      dev::copy(dev::Block{}, static_cast<std::byte*>(m.to) + row * m.to_stride,
                static_cast<const std::byte*>(m.from) + row * m.from_stride, m.row_bytes);
  }
};

}  // namespace

Status copy_rows(const RowsToCopy& rows, Stream stream) {
  if (rows.rows == 0 || rows.row_bytes == 0) return Status::ok();
  const auto blocks = static_cast<unsigned>(rows.rows < kMostBlocks ? rows.rows : kMostBlocks);
  return dev::launch({blocks, kThreads, 0}, Copy{rows}, stream);
}

}  // namespace WEFT_TARGET
}  // namespace weft::kernels

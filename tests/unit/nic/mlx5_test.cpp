// Requests and completions of ConnectX, byte by byte against rdma-core's header.
#include <weft/dev/nic/mlx5.hpp>

#include <infiniband/mlx5dv.h>

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "tests/support/random.hpp"

namespace weft {
namespace {

using dev::nic::Mlx5;

constexpr std::uint8_t kSignalled = MLX5_WQE_CTRL_CQ_UPDATE;
constexpr std::size_t kUnit = 16;

// A queue in plain memory, filled with noise, and a block that rdma-core fills.
class Mlx5Requests : public ::testing::Test {
 protected:
  struct alignas(64) Block {
    std::uint8_t bytes[MLX5_SEND_WQE_BB] = {};
  };

  Mlx5Requests() : random_(test_seed()), slots_(kCapacity) {
    queue_.slots = reinterpret_cast<std::byte*>(slots_.data());
    queue_.capacity = kCapacity;
    queue_.completion = reinterpret_cast<const std::uint64_t*>(&entry_);
    entry_.op_own = MLX5_CQE_INVALID << 4 | MLX5_CQE_OWNER_MASK;
  }

  // New arguments of everything; `wanted_` gets the segments that all requests have.
  void draw(std::uint8_t opcode, std::uint8_t units, std::uint8_t flags = kSignalled) {
    index_ = random_();
    remote_ = random_();
    local_ = random_();
    value_ = random_();
    compare_ = random_();
    queue_.number = static_cast<std::uint32_t>(random_()) & 0xffffff;
    queue_.remote_key = static_cast<std::uint32_t>(random_());
    queue_.local_key = static_cast<std::uint32_t>(random_());
    for (Block& block : slots_)
      for (std::uint8_t& byte : block.bytes) byte = static_cast<std::uint8_t>(random_());
    wanted_ = {};
    mlx5dv_set_ctrl_seg(wanted<mlx5_wqe_ctrl_seg>(0), static_cast<std::uint16_t>(index_), opcode, 0,
                        queue_.number, flags, units, 0, 0);
    auto* const raddr = wanted<mlx5_wqe_raddr_seg>(1);
    raddr->raddr = htobe64(remote_);
    raddr->rkey = htobe32(queue_.remote_key);
    units_ = units;
  }
  template <class Segment>
  Segment* wanted(std::size_t unit) {
    return reinterpret_cast<Segment*>(wanted_.bytes + unit * kUnit);
  }
  // The NIC reads the units that the control segment names.
  void compare(std::size_t bytes) {
    ASSERT_EQ(std::memcmp(slots_[index_ % kCapacity].bytes, wanted_.bytes, bytes), 0);
    std::uint64_t head;
    std::memcpy(&head, wanted_.bytes, sizeof(head));
    ASSERT_EQ(Mlx5::doorbell_value(queue_, index_ + 1), head);
  }
  void compare() { compare(units_ * kUnit); }

  static constexpr std::size_t kCapacity = 8;
  static constexpr int kRounds = 1000;
  std::mt19937_64 random_;
  std::vector<Block> slots_;
  Block wanted_;
  std::size_t units_ = 0;
  alignas(64) mlx5_cqe64 entry_ = {};
  QueueView queue_;
  std::uint64_t index_ = 0, remote_ = 0, local_ = 0, value_ = 0, compare_ = 0;
};

TEST_F(Mlx5Requests, PutAndGetAreWriteAndRead) {
  for (int i = 0; i < kRounds; ++i) {
    const bool puts = random_() % 2 == 0;
    draw(puts ? MLX5_OPCODE_RDMA_WRITE : MLX5_OPCODE_RDMA_READ, 3);
    const auto bytes = static_cast<std::uint32_t>(1 + random_() % Mlx5::kMostBytes);
    mlx5dv_set_data_seg(wanted<mlx5_wqe_data_seg>(2), bytes, queue_.local_key, local_);
    if (puts)
      Mlx5::write_put(queue_, index_, remote_, local_, bytes);
    else
      Mlx5::write_get(queue_, index_, remote_, local_, bytes);
    compare();
  }
}

TEST_F(Mlx5Requests, InlinePutCarriesItsBytes) {
  for (int i = 0; i < kRounds; ++i) {
    const std::size_t bytes = 1 + random_() % Mlx5::kMostInlineBytes;
    const std::size_t units = 2 + (4 + bytes + kUnit - 1) / kUnit;
    draw(MLX5_OPCODE_RDMA_WRITE, static_cast<std::uint8_t>(units));
    const std::vector<std::byte> data = random_bytes(random_, bytes);
    wanted<mlx5_wqe_inl_data_seg>(2)->byte_count =
        htobe32(static_cast<std::uint32_t>(bytes) | MLX5_INLINE_SEG);
    std::memcpy(wanted_.bytes + 2 * kUnit + 4, data.data(), bytes);
    Mlx5::write_inline(queue_, index_, remote_, data.data(), bytes);
    compare(2 * kUnit + 4 + bytes);
  }
}

TEST_F(Mlx5Requests, AtomicsNameTheirResultLast) {
  for (int i = 0; i < kRounds; ++i) {
    const bool adds = random_() % 2 == 0;
    draw(adds ? MLX5_OPCODE_ATOMIC_FA : MLX5_OPCODE_ATOMIC_CS, 4);
    *wanted<mlx5_wqe_atomic_seg>(2) = {htobe64(value_), adds ? 0 : htobe64(compare_)};
    mlx5dv_set_data_seg(wanted<mlx5_wqe_data_seg>(3), 8, queue_.local_key, local_);
    if (adds)
      Mlx5::write_fetch_add(queue_, index_, remote_, local_, value_);
    else
      Mlx5::write_compare_swap(queue_, index_, remote_, local_, compare_, value_);
    compare();
  }
}

TEST_F(Mlx5Requests, FenceIsAFencedWriteOfNothing) {
  for (int i = 0; i < kRounds; ++i) {
    queue_.remote_base = random_();
    draw(MLX5_OPCODE_RDMA_WRITE, 2, kSignalled | MLX5_WQE_CTRL_FENCE);
    wanted<mlx5_wqe_raddr_seg>(1)->raddr = htobe64(queue_.remote_base);
    Mlx5::write_fence(queue_, index_);
    compare();
  }
}

TEST_F(Mlx5Requests, RecordIsTheCountIn16Bits) {
  for (int i = 0; i < kRounds; ++i) {
    const std::uint64_t count = random_();
    ASSERT_EQ(Mlx5::record_value(count), htobe32(count & 0xffff));
  }
}

TEST_F(Mlx5Requests, CompletionCountsOnFromWhatIsKnown) {
  EXPECT_EQ(Mlx5::read_completion(queue_, 0).count, 0u);
  EXPECT_EQ(Mlx5::read_completion(queue_, 777).count, 777u);
  for (int i = 0; i < kRounds; ++i) {
    const std::uint64_t known = random_() >> 1, fresh = random_() % Mlx5::kMostSlots;
    entry_.wqe_counter = htobe16(static_cast<std::uint16_t>(known + fresh - 1));
    entry_.sop_drop_qpn = htobe32(static_cast<std::uint32_t>(random_()));
    entry_.signature = static_cast<std::uint8_t>(random_());
    entry_.op_own = static_cast<std::uint8_t>(MLX5_CQE_REQ << 4 | random_() % 2);
    const dev::nic::Completion now = Mlx5::read_completion(queue_, known);
    ASSERT_EQ(now.count, known + fresh);
    ASSERT_FALSE(now.failed);
  }
}

TEST_F(Mlx5Requests, FailedCompletionCountsWhatCameBefore) {
  for (int i = 0; i < kRounds; ++i) {
    const std::uint64_t known = random_() >> 1, fresh = random_() % Mlx5::kMostSlots;
    auto& error = reinterpret_cast<mlx5_err_cqe&>(entry_);
    error.wqe_counter = htobe16(static_cast<std::uint16_t>(known + fresh));
    error.op_own = static_cast<std::uint8_t>(MLX5_CQE_REQ_ERR << 4 | random_() % 2);
    error.vendor_err_synd = static_cast<std::uint8_t>(random_());
    error.syndrome = MLX5_CQE_SYNDROME_TRANSPORT_RETRY_EXC_ERR;
    dev::nic::Completion now = Mlx5::read_completion(queue_, known);
    ASSERT_TRUE(now.failed);
    ASSERT_EQ(now.count, known + fresh);
    ASSERT_EQ(now.syndrome, MLX5_CQE_SYNDROME_TRANSPORT_RETRY_EXC_ERR);
    error.syndrome = MLX5_CQE_SYNDROME_WR_FLUSH_ERR;
    now = Mlx5::read_completion(queue_, known);
    ASSERT_TRUE(now.failed);
    ASSERT_EQ(now.count, known);
  }
}

}  // namespace
}  // namespace weft

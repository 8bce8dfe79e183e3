// The built-in tables of plans.
#include <weft/kernels/plan.hpp>

namespace weft::kernels {
namespace {

constexpr std::size_t kAny = ~std::size_t{0};
constexpr std::size_t KiB = 1024;

using enum Collective;
constexpr Algorithm kLL = Algorithm::kLL, kTwoShotLL = Algorithm::kTwoShotLL,
                    kSimple = Algorithm::kSimple, kScatteredSimple = Algorithm::kScatteredSimple,
                    kLamport = Algorithm::kLamport, kTwoShotLamport = Algorithm::kTwoShotLamport,
                    kZeroCopy = Algorithm::kZeroCopy;

// As measured on two and on four H100 and H200 (docs/measurements/2026-11-26-collectives.md), where
// messages that each sends to all others are the smaller, the more there are: for more PEs an
// estimate.
const std::vector<PlanRow> kGpuTable = {
    {kAllReduce, 2, 4 * KiB, kLamport, 32, 128},
    {kAllReduce, 2, 1024 * KiB, kLamport, 256, 256},
    {kAllReduce, 2, 2048 * KiB, kLamport, 256, 512},
    {kAllReduce, 2, 32768 * KiB, kTwoShotLamport, 256, 512},
    {kAllReduce, 2, kAny, kSimple, 256, 256},
    {kAllReduce, 0, 64 * KiB, kLamport, 64, 128},
    {kAllReduce, 4, 256 * KiB, kLamport, 128, 256},
    {kAllReduce, 0, 128 * KiB, kLamport, 128, 256},
    {kAllReduce, 0, 1024 * KiB, kTwoShotLamport, 128, 256},
    {kAllReduce, 0, kAny, kTwoShotLamport, 128, 512},
    {kAllGather, 2, 8 * KiB, kLL, 32, 128},
    {kAllGather, 2, 512 * KiB, kLamport, 128, 256},
    {kAllGather, 2, 1024 * KiB, kLamport, 256, 256},
    {kAllGather, 2, 16384 * KiB, kLamport, 256, 512},
    {kAllGather, 2, kAny, kZeroCopy, 256, 256},
    {kAllGather, 2, kAny, kSimple, 256, 256},
    {kAllGather, 0, 64 * KiB, kLL, 64, 128},
    {kAllGather, 4, 128 * KiB, kLL, 64, 256},
    {kAllGather, 0, 512 * KiB, kLamport, 128, 256},
    {kAllGather, 0, 1024 * KiB, kLamport, 128, 512},
    {kAllGather, 4, 2048 * KiB, kLamport, 128, 512},
    {kAllGather, 0, 8192 * KiB, kZeroCopy, 128, 256},
    {kAllGather, 0, 65536 * KiB, kZeroCopy, 256, 256},
    {kAllGather, 0, kAny, kZeroCopy, 256, 512},
    {kAllGather, 0, 4096 * KiB, kLamport, 128, 512},
    {kAllGather, 0, kAny, kLamport, 128, 256},
    {kReduceScatter, 2, 4 * KiB, kLamport, 32, 128},
    {kReduceScatter, 2, 16384 * KiB, kLamport, 256, 256},
    {kReduceScatter, 2, kAny, kSimple, 256, 256},
    {kReduceScatter, 0, 64 * KiB, kLamport, 64, 128},
    {kReduceScatter, 0, 256 * KiB, kLamport, 128, 256},
    {kReduceScatter, 0, kAny, kLamport, 128, 512},
    {kAllToAll, 2, 16 * KiB, kLL, 32, 128},
    {kAllToAll, 2, 64 * KiB, kLL, 64, 256},
    {kAllToAll, 2, 512 * KiB, kLamport, 128, 256},
    {kAllToAll, 2, 1024 * KiB, kLamport, 256, 256},
    {kAllToAll, 2, 8192 * KiB, kLamport, 256, 512},
    {kAllToAll, 2, kAny, kZeroCopy, 256, 256},
    {kAllToAll, 2, kAny, kSimple, 256, 256},
    {kAllToAll, 0, 64 * KiB, kLL, 64, 128},
    {kAllToAll, 4, 128 * KiB, kLL, 64, 256},
    {kAllToAll, 0, 512 * KiB, kLamport, 128, 256},
    {kAllToAll, 0, 1024 * KiB, kLamport, 128, 512},
    {kAllToAll, 4, 2048 * KiB, kLamport, 128, 512},
    {kAllToAll, 0, 16384 * KiB, kZeroCopy, 128, 256},
    {kAllToAll, 0, kAny, kZeroCopy, 256, 256},
    {kAllToAll, 0, kAny, kLamport, 128, 512},
    {kAllToAllV, 2, 64 * KiB, kLL, 64, 128},
    {kAllToAllV, 2, 128 * KiB, kLL, 128, 128},
    {kAllToAllV, 2, 256 * KiB, kLL, 128, 256},
    {kAllToAllV, 2, 8192 * KiB, kZeroCopy, 128, 256},
    {kAllToAllV, 2, kAny, kZeroCopy, 256, 256},
    {kAllToAllV, 2, 4096 * KiB, kSimple, 128, 512},
    {kAllToAllV, 2, kAny, kSimple, 256, 256},
    {kAllToAllV, 0, 128 * KiB, kLL, 128, 128},
    {kAllToAllV, 4, 256 * KiB, kLL, 128, 256},
    {kAllToAllV, 0, 16384 * KiB, kZeroCopy, 128, 256},
    {kAllToAllV, 0, kAny, kZeroCopy, 256, 256},
    {kAllToAllV, 0, 2048 * KiB, kSimple, 128, 512},
    {kAllToAllV, 0, kAny, kSimple, 256, 256},
    {kBroadcast, 2, 16 * KiB, kLL, 32, 128},
    {kBroadcast, 2, 64 * KiB, kLL, 64, 256},
    {kBroadcast, 2, 512 * KiB, kLamport, 128, 256},
    {kBroadcast, 2, 4096 * KiB, kLamport, 256, 256},
    {kBroadcast, 2, 16384 * KiB, kLamport, 256, 512},
    {kBroadcast, 2, kAny, kSimple, 256, 256},
    {kBroadcast, 0, 64 * KiB, kLL, 64, 128},
    {kBroadcast, 0, 128 * KiB, kLL, 64, 256},
    {kBroadcast, 0, 1024 * KiB, kLamport, 128, 256},
    {kBroadcast, 0, 16384 * KiB, kLamport, 128, 512},
    {kBroadcast, 0, kAny, kZeroCopy, 128, 256},
    {kBroadcast, 0, kAny, kLamport, 128, 512},
    {kAllReduceNorm, 2, 256 * KiB, kLamport, 128, 128},
    {kAllReduceNorm, 2, 10240 * KiB, kTwoShotLamport, 128, 256},
    {kAllReduceNorm, 2, 20480 * KiB, kTwoShotLamport, 256, 256},
    {kAllReduceNorm, 2, kAny, kSimple, 128, 512},
    {kAllReduceNorm, 4, 192 * KiB, kLamport, 128, 128},
    {kAllReduceNorm, 0, 64 * KiB, kLamport, 128, 128},
    {kAllReduceNorm, 0, 4096 * KiB, kTwoShotLamport, 128, 256},
    {kAllReduceNorm, 4, 10240 * KiB, kTwoShotLamport, 128, 256},
    {kAllReduceNorm, 4, 20480 * KiB, kTwoShotLamport, 256, 256},
    {kAllReduceNorm, 0, kAny, kSimple, 256, 256},
};

// As few threads as go through everything: a laptop has no more.
const std::vector<PlanRow> kHostTable = {
    {kAllReduce, 0, 1 * KiB, kLL, 1, 2},
    {kAllReduce, 0, 8 * KiB, kTwoShotLL, 2, 2},
    {kAllReduce, 0, kAny, kZeroCopy, 2, 2},
    {kAllReduce, 0, kAny, kSimple, 2, 2},
    {kAllGather, 0, 1 * KiB, kLL, 1, 2},
    {kAllGather, 0, kAny, kZeroCopy, 2, 2},
    {kAllGather, 0, kAny, kSimple, 2, 2},
    {kReduceScatter, 0, 1 * KiB, kLL, 1, 2},
    {kReduceScatter, 0, kAny, kZeroCopy, 2, 2},
    {kReduceScatter, 0, kAny, kSimple, 2, 2},
    {kAllToAll, 0, 1 * KiB, kLL, 1, 2},
    {kAllToAll, 0, kAny, kZeroCopy, 2, 2},
    {kAllToAll, 0, kAny, kSimple, 2, 2},
    {kAllToAllV, 0, 1 * KiB, kLL, 2, 2},
    {kAllToAllV, 0, kAny, kZeroCopy, 2, 2},
    {kAllToAllV, 0, kAny, kSimple, 2, 2},
    {kBroadcast, 0, 1 * KiB, kLL, 1, 2},
    {kBroadcast, 0, kAny, kZeroCopy, 2, 2},
    {kBroadcast, 0, kAny, kScatteredSimple, 2, 2},
    {kAllReduceNorm, 0, 1 * KiB, kLL, 2, 2},
    {kAllReduceNorm, 0, 8 * KiB, kTwoShotLL, 2, 2},
    {kAllReduceNorm, 0, kAny, kSimple, 2, 2},
};

}  // namespace

const std::vector<PlanRow>& builtin_table(bool gpu) { return gpu ? kGpuTable : kHostTable; }

}  // namespace weft::kernels

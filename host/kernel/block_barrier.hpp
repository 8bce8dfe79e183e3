// A barrier of a team's members in a grid, before its work and behind it: each block waits for the
// blocks of the same number on the other members, and not for the rest of its own grid. So a
// collective is one kernel. For up to kFlatSync members, which all map each other.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/device/kernel.hpp>

#include <weft/dev/direct_member.hpp>

namespace weft::kernel {

inline constexpr unsigned kGridBlocks = 32;  // of a grid with such barriers, at most
// The words of a block, each alone on a cache line. Word 0: its barriers so far, which it counts
// itself; word d: those of the member d ranks back, which counts them up here.
inline constexpr std::size_t kBytesOfBlock = kFlatSync * kCacheLine;
inline constexpr std::size_t kBytesOfGrid = kGridBlocks * kBytesOfBlock;

// One block of a grid. All threads call.
class BlockBarrier {
 public:
  // `words`: of the team's grids, in my memory.
  WEFT_DEVICE BlockBarrier(const DeviceContext& handle, const Team& team, std::byte* words,
                           const char* where)
      : h_(handle),
        team_(team),
        words_(words + kBytesOfBlock * dev::block_rank()),
        where_(where),
        epoch_(*count()) {}

  // A wait of this team failed before.
  WEFT_DEVICE bool is_broken() const { return header()->broken != 0; }

  // False: some member has not come. Release and acquire: what the members' blocks of this number
  // did before comes before what they do now; the add pairs with the acquire of has_come().
  WEFT_DEVICE bool wait() {
    const dev::Block block;
    block.sync();  // what all threads did comes before the release of one
    ++epoch_;
    const int first = 1 + block.rank(), step = block.size();
    for (int distance = first; distance < team_.size; distance += step) {
      const int pe = team_.pe_of(dev::wrapped(team_.rank + distance, team_.size));
      std::byte* const there = dev::mapped_on(h_, words_, dev::heap_of(h_, pe), pe);
      dev::platform::add<dev::Order::kRelease, dev::Reach::kSystem>(
          dev::direct_word(there, distance), std::uint64_t{1});
    }
    const bool came =
        first >= team_.size || (step >= team_.size && has_come(first)) ||
        dev::by_abi(dev::wait_on_members)(h_, {where_, words_, team_, epoch_, first, step});
    const bool all_came = block.all(came);
    if (block.rank() == 0) *count() = epoch_;
    if (block.rank() == 0 && !all_came) header()->broken = 1;
    return all_came;
  }

 private:
  // Soon.
  WEFT_DEVICE bool has_come(int distance) const {
    const std::uint64_t* const word = dev::direct_word(words_, distance);
    const auto looks_so = [&] {
      return dev::platform::load<dev::Order::kRelaxed, dev::Reach::kSystem>(word) >= epoch_;
    };
    return dev::comes_soon(looks_so) &&
           dev::platform::acquire(word, [&](std::uint64_t now) { return now >= epoch_; });
  }
  WEFT_DEVICE std::uint64_t* count() const { return reinterpret_cast<std::uint64_t*>(words_); }
  WEFT_DEVICE TeamHeader* header() const {
    return reinterpret_cast<TeamHeader*>(h_.heap + team_block_offset(h_.teams, team_.id));
  }

  const DeviceContext& h_;
  const Team& team_;
  std::byte* const words_;
  const char* const where_;
  std::uint64_t epoch_;
};

// A block's part of a collective: `work` between two barriers. Without words the stream has a sync
// of the team before the grid, and one behind it.
template <class Work>
WEFT_DEVICE void between_barriers(const DeviceContext& handle, const Team& team, std::byte* words,
                                  const char* where, Work work) {
  if (words == nullptr) return work();
  BlockBarrier barrier(handle, team, words, where);
  if (barrier.is_broken() || !barrier.wait()) return;
  work();
  barrier.wait();
}

}  // namespace weft::kernel

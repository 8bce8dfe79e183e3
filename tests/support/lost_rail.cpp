// A network device is set down in the middle of a job that has another: all of it ends right.
//   lost_rail DEVICE
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <weft/weft.hpp>

#include "src/base/status.hpp"

namespace {

using Word = std::uint64_t;

constexpr std::size_t kWords = 100'000;
constexpr Word kRounds = 60, kLoss = 20;

// The receiver takes the signal back, so one that came twice would be noticed.
weft::Status pass_on(weft::Runtime& rt, Word* bulk, Word* signal, Word* sum,
                     const std::string& device) {
  weft::Context& ctx = rt.context();
  const int right = (rt.pe() + 1) % rt.npes();
  for (Word round = 1; round <= kRounds; ++round) {
    if (round == kLoss && rt.pe() == 1 &&
        std::system(("ip link set " + device + " down").c_str()) != 0)
      std::puts("the link stays up");
    const std::size_t words = round % 8 == 0 ? kWords : 50;
    const std::vector<Word> mine(words, round);
    const auto notify = round % 2 == 0 ? weft::set(signal, round) : weft::add(signal, round);
    RETURN_IF_ERROR(ctx.put(bulk, mine.data(), words, right, notify));
    for (int pe = 0; pe < rt.npes(); ++pe) RETURN_IF_ERROR(ctx.atomic_add(sum, round, pe));
    RETURN_IF_ERROR(wait_until(ctx, signal, weft::Cmp::kNe, Word{0}));
    if (*signal != round || std::vector<Word>(bulk, bulk + words) != mine)
      std::printf("PE %d: round %d is wrong\n", rt.pe(), static_cast<int>(round));
    *signal = 0;
    RETURN_IF_ERROR(rt.barrier());
  }
  if (*sum == static_cast<Word>(rt.npes()) * kRounds * (kRounds + 1) / 2)
    std::printf("PE %d has all of %d rounds\n", rt.pe(), static_cast<int>(kRounds));
  return weft::Status();
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) return 2;
  auto rt = weft::Runtime::create();
  if (!rt.is_ok()) return 1;
  auto bulk = rt->callocate<Word>(kWords), signal = rt->callocate<Word>(1),
       sum = rt->callocate<Word>(1);
  if (!bulk.is_ok() || !signal.is_ok() || !sum.is_ok() || !rt->barrier().is_ok()) return 1;
  const weft::Status status = pass_on(*rt, *bulk, *signal, *sum, arguments[1]);
  if (!status.is_ok()) std::puts(status.text());
  return status.is_ok() ? 0 : 1;
}

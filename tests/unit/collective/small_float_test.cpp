// weft/small_float.hpp on a host, against numbers: every pattern, every tie, and what folds do with
// them.
#include <weft/small_float.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

#include <weft/collective.hpp>
#include <weft/dev/collective_reduce.hpp>

#include "host/collective/host_fold.hpp"
#include "tests/support/random.hpp"
#include "tests/support/small_float.hpp"
#include "tests/support/status.hpp"

namespace weft {
namespace {

using numbers::is_same_float;
using numbers::kInfinityBits;
using numbers::nearest;
using numbers::of_bits;
using numbers::value_of;

template <class T>
class SmallFloatTest : public ::testing::Test {};
using Formats = ::testing::Types<Half, Bfloat16>;
TYPED_TEST_SUITE(SmallFloatTest, Formats);

TYPED_TEST(SmallFloatTest, EveryPatternIsWorthItsNumberAndComesBack) {
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const auto small = of_bits<TypeParam>(bits);
    const auto wide = static_cast<float>(small);
    ASSERT_EQ(std::signbit(wide), bits >> 15 != 0) << bits;
    if ((bits & 0x7fff) > kInfinityBits<TypeParam>) {
      ASSERT_TRUE(std::isnan(wide)) << bits;
      ASSERT_TRUE(is_same_float(TypeParam(wide), small)) << bits;
    } else {
      ASSERT_EQ(wide, value_of(small)) << bits;
      ASSERT_EQ(TypeParam(wide).bits, bits);
    }
  }
}

// Between each two neighbours, of either sign: the tie goes to the even one, the floats beside the
// tie to the nearer.
TYPED_TEST(SmallFloatTest, RoundsToNearestAndTiesToEven) {
  for (unsigned bits = 0; bits < kInfinityBits<TypeParam>; ++bits) {
    const double below = value_of(of_bits<TypeParam>(bits));
    const bool is_last = bits + 1 == kInfinityBits<TypeParam>;  // as if there were one more step
    const double above = is_last ? 2 * below - value_of(of_bits<TypeParam>(bits - 1))
                                 : value_of(of_bits<TypeParam>(bits + 1));
    const auto tie = static_cast<float>((below + above) / 2);
    ASSERT_EQ(tie, (below + above) / 2) << bits;
    const unsigned even = bits + bits % 2;
    const unsigned wanted[] = {bits, even, bits + 1};
    const float values[] = {std::nextafter(tie, 0.0f), tie, std::nextafter(tie, INFINITY)};
    for (int i = 0; i < 3; ++i) {
      ASSERT_EQ(TypeParam(values[i]).bits, wanted[i]) << bits << ", " << i;
      ASSERT_EQ(TypeParam(-values[i]).bits, wanted[i] | 0x8000u) << bits << ", " << i;
    }
  }
}

TYPED_TEST(SmallFloatTest, AnyFloatGoesToTheNearest) {
  std::mt19937_64 random(test_seed());
  for (int i = 0; i < 1000000; ++i) {
    const auto bits = static_cast<std::uint32_t>(random());
    float value;
    std::memcpy(&value, &bits, sizeof(value));
    ASSERT_TRUE(is_same_float(TypeParam(value), nearest<TypeParam>(value))) << value;
  }
  EXPECT_EQ(TypeParam(INFINITY).bits, kInfinityBits<TypeParam>);
  EXPECT_EQ(TypeParam(-INFINITY).bits, kInfinityBits<TypeParam> | 0x8000);
  EXPECT_EQ(TypeParam(-0.0f).bits, 0x8000);
  EXPECT_EQ(TypeParam(std::numeric_limits<float>::denorm_min()).bits, 0);
}

// --- folds ---------------------------------------------------------------------------------------

// Zeros, the least and largest of each kind, ordinary numbers, infinities, NaNs: with both signs.
template <class T>
std::vector<T> notable() {
  std::vector<T> values;
  const unsigned one = static_cast<unsigned>(numbers::Shape<T>::kBias)
                       << numbers::Shape<T>::kFraction;
  const unsigned normal = 1u << numbers::Shape<T>::kFraction;
  for (const unsigned bits :
       {0u, 1u, normal - 1, normal, normal + 1, one - 1, one, one + 1, one + 2 * normal + 5,
        kInfinityBits<T> - 1, kInfinityBits<T>, kInfinityBits<T> | normal / 2})
    for (const unsigned sign : {0u, 0x8000u}) values.push_back(of_bits<T>(sign | bits));
  return values;
}

// As float does it, then rounded: of a and b in rank order.
template <class T>
T expected(ReduceOp op, T a, T b) {
  const auto x = static_cast<float>(value_of(a)), y = static_cast<float>(value_of(b));
  if (op == ReduceOp::kMin) return y < x ? b : a;
  if (op == ReduceOp::kMax) return x < y ? b : a;
  return nearest<T>(op == ReduceOp::kSum ? x + y : x * y);
}

TYPED_TEST(SmallFloatTest, AStepOfAFoldIsRoundedOnce) {
  constexpr Element kElement = element_of<TypeParam>();
  std::vector<TypeParam> both[2], got;  // each with each
  for (const TypeParam a : notable<TypeParam>())
    for (const TypeParam b : notable<TypeParam>()) {
      both[0].push_back(a);
      both[1].push_back(b);
    }
  got.resize(both[0].size());
  for (const ReduceOp op : {ReduceOp::kSum, ReduceOp::kProd, ReduceOp::kMin, ReduceOp::kMax}) {
    const auto fold = HostFold::make(kElement, op);
    ASSERT_OK(fold.status());
    EXPECT_EQ(fold->element, 2u);
    fold->fold(
        0, reinterpret_cast<std::byte*>(got.data()),
        [&](int rank) { return reinterpret_cast<const std::byte*>(both[rank].data()); }, 2,
        got.size());
    for (std::size_t i = 0; i < got.size(); ++i)
      EXPECT_TRUE(is_same_float(got[i], expected(op, both[0][i], both[1][i])))
          << to_string(op) << " of " << value_of(both[0][i]) << " and " << value_of(both[1][i])
          << " is " << value_of(got[i]);
  }
}

TYPED_TEST(SmallFloatTest, IdentitiesChangeNothing) {
  for (const TypeParam x : notable<TypeParam>()) {
    const auto expect_kept = [&](auto op) {
      constexpr ReduceOp kOp = decltype(op)::value;
      const auto e = dev::coll::identity<kOp, TypeParam>();
      const auto kept = dev::coll::combine<kOp>(e, x);
      if (kOp == ReduceOp::kSum || kOp == ReduceOp::kProd)
        EXPECT_EQ(std::fabs(static_cast<float>(kept)), std::fabs(static_cast<float>(x)));
      else
        EXPECT_TRUE(is_same_float(kept, x));
    };
    if (std::isnan(value_of(x))) continue;
    expect_kept(std::integral_constant<ReduceOp, ReduceOp::kSum>{});
    expect_kept(std::integral_constant<ReduceOp, ReduceOp::kProd>{});
    expect_kept(std::integral_constant<ReduceOp, ReduceOp::kMin>{});
    expect_kept(std::integral_constant<ReduceOp, ReduceOp::kMax>{});
  }
}

TYPED_TEST(SmallFloatTest, HaveNoBitwiseReductions) {
  EXPECT_CODE(HostFold::make(element_of<TypeParam>(), ReduceOp::kAnd).status(),
              Code::kInvalidArgument);
}

// --- types of others -----------------------------------------------------------------------------

struct OwnHalf {
  unsigned char low, high;
};

}  // namespace

template <>
struct SmallFloat<OwnHalf> : SmallFloatAs<OwnHalf, Half> {};

namespace {

TEST(SmallFloatTypes, OwnOnesAreTakenByTheirBits) {
  static_assert(element_of<OwnHalf>() == Element::kHalf && is_reduce_type<OwnHalf>);
  static_assert(!is_bitwise_type<OwnHalf> && !is_amo_type<Half>);
  const OwnHalf one = SmallFloat<OwnHalf>::narrow(1.0f);
  EXPECT_EQ(one.high, 0x3c);
  EXPECT_EQ(one.low, 0x00);
  const OwnHalf sum = dev::coll::combine<ReduceOp::kSum>(one, one);
  EXPECT_EQ(SmallFloat<OwnHalf>::widen(sum), 2.0f);
}

TEST(SmallFloatTypes, CudasAreKnownByName) {
  static_assert(SmallFloat<__half>::value && SmallFloat<__nv_bfloat16>::value);
  static_assert(std::is_same_v<SmallFloat<__half>::Format, Half>);
  static_assert(std::is_same_v<SmallFloat<__nv_bfloat16>::Format, Bfloat16>);
}

}  // namespace
}  // namespace weft

#include "host/transport/ib/gid.hpp"

#include <array>
#include <cstring>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/status.hpp"

namespace weft::ib {
namespace {

using ::testing::HasSubstr;

ibv_gid_entry entry(std::uint32_t index, std::uint32_t type, std::array<std::uint8_t, 16> raw) {
  ibv_gid_entry made{};
  made.gid_index = index;
  made.gid_type = type;
  std::memcpy(made.gid.raw, raw.data(), raw.size());
  return made;
}
constexpr std::array<std::uint8_t, 16> kLocal = {0xfe, 0x80, 0, 0, 0, 0, 0, 0,
                                                 2,    0,    0, 0, 0, 0, 0, 1};
constexpr std::array<std::uint8_t, 16> kGlobal = {0x20, 0x01, 0xd, 0xb8, 0, 0, 0, 0,
                                                  0,    0,    0,   0,    0, 0, 0, 7};
constexpr std::array<std::uint8_t, 16> kIpv4 = {0, 0, 0,    0,    0,  0, 0, 0,
                                                0, 0, 0xff, 0xff, 10, 1, 2, 3};
constexpr std::uint32_t kV1 = IBV_GID_TYPE_ROCE_V1, kV2 = IBV_GID_TYPE_ROCE_V2;

int best(const std::vector<ibv_gid_entry>& table, int wanted = -1) {
  const auto found = best_gid(table, wanted, "mlx5_0 port 1");
  EXPECT_OK(found);
  return found ? static_cast<int>((*found)->gid_index) : -1;
}

TEST(Gid, TheNewerProtocolAndTheWiderAddressWin) {
  EXPECT_EQ(best({entry(0, kV1, kLocal), entry(1, kV2, kLocal), entry(2, kV1, kIpv4),
                  entry(3, kV2, kIpv4), entry(4, kV2, kGlobal)}),
            3);
  EXPECT_EQ(best({entry(0, kV2, kLocal), entry(1, kV2, kGlobal), entry(2, kV1, kIpv4)}), 1);
  EXPECT_EQ(best({entry(0, kV1, kIpv4), entry(1, kV2, kLocal)}), 1);
  EXPECT_EQ(best({entry(0, IBV_GID_TYPE_IB, kLocal)}), 0);
}

TEST(Gid, TheFirstOfEquals) { EXPECT_EQ(best({entry(2, kV2, kIpv4), entry(5, kV2, kIpv4)}), 2); }

TEST(Gid, WhoNamesOneGetsIt) {
  const std::vector table = {entry(0, kV1, kLocal), entry(3, kV2, kIpv4)};
  EXPECT_EQ(best(table, 0), 0);
  const auto none = best_gid(table, 7, "mlx5_0 port 1");
  EXPECT_CODE(none.status(), Code::kOutOfRange);
  EXPECT_THAT(std::string(none.status().text()),
              HasSubstr("WEFT_IB_GID_INDEX=7: mlx5_0 port 1 has no such GID; it has\n"
                        "  0 RoCE v1 (fe80::200:0:0:1)\n  3 RoCE v2 (10.1.2.3)"));
}

TEST(Gid, APortWithoutAny) {
  EXPECT_THAT(std::string(best_gid({}, -1, "mlx5_0 port 1").status().text()),
              HasSubstr("mlx5_0 port 1 has no GID; give its network device an address"));
}

}  // namespace
}  // namespace weft::ib

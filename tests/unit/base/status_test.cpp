#include "src/base/status.hpp"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(Status, OkIsOneNullPointer) {
  Status ok;
  EXPECT_TRUE(ok.is_ok());
  EXPECT_EQ(ok.code(), Code::kOk);
  EXPECT_STREQ(ok.text(), "");
  EXPECT_EQ(ok.to_string(), "ok");
  EXPECT_EQ(sizeof(Status), sizeof(void*));
}

TEST(Status, ErrorCarriesCodeTextAndPlace) {
  Status status = Status::error(Code::kTimeout, "PE 3 is missing");
  Status copy = status;
  status = Status::ok();
  EXPECT_TRUE(copy.is(Code::kTimeout));
  EXPECT_STREQ(copy.text(), "PE 3 is missing");
  EXPECT_NE(copy.to_string().find("timeout: PE 3 is missing (status_test.cpp:"), std::string::npos);
}

TEST(Status, BusyIsShared) {
  Status a = Status::busy();
  Status b = a;
  EXPECT_TRUE(a.is(Code::kBusy) && b.is(Code::kBusy));
}

Result<int> half(int value) {
  if (value % 2 != 0) return Status::error(Code::kInvalidArgument, "odd");
  return value / 2;
}

Status quarter(int value, int* out) {
  ASSIGN_OR_RETURN(int once, half(value));
  ASSIGN_OR_RETURN(*out, half(once));
  return Status::ok();
}

TEST(Result, MacrosPassTheFirstErrorOn) {
  int out = 0;
  EXPECT_TRUE(quarter(8, &out).is_ok());
  EXPECT_EQ(out, 2);
  EXPECT_TRUE(quarter(6, &out).is(Code::kInvalidArgument));
  EXPECT_TRUE(quarter(5, &out).is(Code::kInvalidArgument));
}

}  // namespace
}  // namespace weft

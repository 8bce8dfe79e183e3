// Calls with tensors: what is right does as the call with pointers, and what is not is refused with
// what is wrong about it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <weft/device.hpp>
#include <weft/kernels/all_reduce_norm.hpp>
#include <weft/kernels/collectives.hpp>
#include <weft/kernels/gemm.hpp>
#include <weft/small_float.hpp>

#include "src/base/status.hpp"
#include "tests/support/pe_group.hpp"
#include "tests/support/status.hpp"

namespace weft::kernels {
namespace {

using ::testing::HasSubstr;

void expect_refused(const Status& status, const char* text) {
  EXPECT_CODE(status, Code::kInvalidArgument);
  EXPECT_THAT(std::string(status.text()), HasSubstr(text));
}

TEST(TensorView, IsRowMajorOfItsShape) {
  constexpr TensorView view(nullptr, DType::kInt32, {2, 3, 5});
  EXPECT_EQ(view.rank, 3);
  EXPECT_EQ(view.strides[0], 15);
  EXPECT_EQ(view.strides[1], 5);
  EXPECT_EQ(view.strides[2], 1);
}

TEST(TensorView, CallsOfCollectivesTakeThem) {
  EXPECT_OK(run_local(3, [](Runtime& rt) -> Status {
    ASSIGN_OR_RETURN(AllReduce sum, AllReduce::create(rt, {.max_count = 100}));
    ASSIGN_OR_RETURN(AllGather all, AllGather::create(rt, {.max_count = 100}));
    ASSIGN_OR_RETURN(Broadcast cast, Broadcast::create(rt, {.max_count = 100}));
    std::vector<float> in(20, static_cast<float>(rt.pe() + 1)), out(60);
    const ConstTensorView from(in.data(), DType::kFloat32, {4, 5});
    RETURN_IF_ERROR(sum(nullptr, TensorView(out.data(), DType::kFloat32, {20}), from));
    RETURN_IF_ERROR(dev::synchronize());
    EXPECT_EQ(std::vector<float>(out.begin(), out.begin() + 20), std::vector<float>(20, 6));
    RETURN_IF_ERROR(all(nullptr, TensorView(out.data(), DType::kFloat32, {3, 4, 5}), from));
    RETURN_IF_ERROR(dev::synchronize());
    for (std::size_t i = 0; i < 60; ++i) EXPECT_EQ(out[i], static_cast<float>(i / 20 + 1));
    const ConstTensorView read = rt.pe() == 2 ? from : ConstTensorView();
    RETURN_IF_ERROR(cast(nullptr, TensorView(out.data(), DType::kFloat32, {20}), read, 2));
    RETURN_IF_ERROR(dev::synchronize());
    EXPECT_EQ(out[19], 3);
    return rt.barrier();
  }));
}

TEST(TensorView, OfAnAllReduceNormAreRows) {
  EXPECT_OK(run_local(2, [](Runtime& rt) -> Status {
    ASSIGN_OR_RETURN(AllReduceNorm norm,
                     AllReduceNorm::create(
                         rt, {.max_rows = 4, .hidden = 8, .dtype = DType::kFloat32, .epsilon = 0}));
    std::vector<float> in(16, 1), residual(16, 1), out(16), sums(16), weight(8, 2);
    const auto rows = [](void* data) { return TensorView(data, DType::kFloat32, {2, 8}); };
    const ConstTensorView weights(weight.data(), DType::kFloat32, {8});
    RETURN_IF_ERROR(norm(nullptr, rows(out.data()), rows(sums.data()), rows(in.data()),
                         rows(residual.data()), weights));
    RETURN_IF_ERROR(dev::synchronize());
    EXPECT_EQ(sums, std::vector<float>(16, 3));
    EXPECT_EQ(out, std::vector<float>(16, 2));
    const TensorView flat(in.data(), DType::kFloat32, {16});
    expect_refused(
        norm(nullptr, rows(out.data()), rows(sums.data()), flat, rows(residual.data()), weights),
        "in rows of 8");
    expect_refused(
        norm(nullptr, rows(out.data()), rows(sums.data()), rows(in.data()), rows(residual.data()),
             ConstTensorView(weight.data(), DType::kFloat32, {4})),
        "weight is [4] of float32");
    return rt.barrier();
  }));
}

TEST(TensorView, WhatDoesNotFitIsRefused) {
  EXPECT_OK(run_local(2, [](Runtime& rt) -> Status {
    ASSIGN_OR_RETURN(AllReduce sum, AllReduce::create(rt, {.max_count = 100}));
    std::vector<float> in(40), out(40);
    const TensorView good(out.data(), DType::kFloat32, {4, 5});
    expect_refused(sum(nullptr, good, ConstTensorView(in.data(), DType::kInt32, {4, 5})),
                   "in is [4, 5] of int32, strides [5, 1], but the operator was made for float32");
    ConstTensorView apart(in.data(), DType::kFloat32, {4, 5});
    apart.strides[0] = 8;
    expect_refused(sum(nullptr, good, apart), "do not lie one behind the other");
    expect_refused(sum(nullptr, good, ConstTensorView(in.data(), DType::kFloat32, {4, 6})),
                   "out should have 1 elements for each 1 of in");
    expect_refused(sum(nullptr, good, ConstTensorView(in.data(), DType::kFloat32, {4, -5})),
                   "a size is negative");
    expect_refused(sum(nullptr, good, ConstTensorView(in.data(), DType::kFloat32, {1, 1, 1, 4, 5})),
                   "has 5 dimensions");
    apart = ConstTensorView(in.data(), DType::kFloat32, {1, 20});
    apart.strides[0] = 77;  // of one element: of no account
    EXPECT_OK(sum(nullptr, good, apart));
    EXPECT_OK(dev::synchronize());
    return rt.barrier();
  }));
}

// Rows that lie apart are strides of the tensors.
TEST(TensorView, OfAGemmHaveItsStrides) {
  EXPECT_OK(run_local(1, [](Runtime& rt) -> Status {
    ASSIGN_OR_RETURN(Gemm product,
                     Gemm::create(rt, {.m = 3, .n = 8, .k = 8, .lda = 16, .ldc = 24}));
    alignas(16) Bfloat16 a[3 * 16], b[8 * 8], c[3 * 24];
    for (Bfloat16& one : a) one = Bfloat16(2.0f);
    for (int i = 0; i < 64; ++i) b[i] = Bfloat16(static_cast<float>(i / 8));
    for (Bfloat16& one : c) one = Bfloat16(-1.0f);
    ConstTensorView of_a(a, DType::kBfloat16, {2, 8});
    const ConstTensorView of_b(b, DType::kBfloat16, {8, 8});
    TensorView of_c(c, DType::kBfloat16, {2, 8});
    of_c.strides[0] = 24;
    expect_refused(product(nullptr, of_c, of_a, of_b),
                   "a is [2, 8] of bfloat16, strides [8, 1], but should be [2, 8] of bfloat16, "
                   "strides [16, 1]");
    of_a.strides[0] = 16;
    RETURN_IF_ERROR(product(nullptr, of_c, of_a, of_b));
    RETURN_IF_ERROR(dev::synchronize());
    for (int i = 0; i < 3 * 24; ++i) {
      const float expected = i / 24 < 2 && i % 24 < 8 ? static_cast<float>(16 * (i % 24)) : -1.0f;
      EXPECT_EQ(static_cast<float>(c[i]), expected) << i;
    }
    expect_refused(product(nullptr, of_c, of_a, ConstTensorView(b, DType::kBfloat16, {4, 16})),
                   "b is [4, 16]");
    return rt.barrier();
  }));
}

}  // namespace
}  // namespace weft::kernels

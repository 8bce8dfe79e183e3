// The part of one PE in the tests of AllReduceNorm: calls with fresh inputs, compared bit by bit
// with a model that adds up in the order that the operator promises, and loosely with one in
// double.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include <weft/kernels/all_reduce_norm.hpp>

#include "tests/kernels/collective_play.hpp"

namespace weft::kernels::test {

template <class T>
struct NormData {
  std::vector<std::vector<T>> in;  // of each rank
  std::vector<T> residual, weight;

  NormData(int npes, std::size_t rows, std::size_t hidden, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    const auto fill = [&](std::size_t count) {
      std::vector<T> made(count);
      for (T& value : made) value = random_element<T>(random);
      return made;
    };
    for (int pe = 0; pe < npes; ++pe) in.push_back(fill(rows * hidden));
    residual = fill(rows * hidden);
    weight = fill(hidden);
  }
};

// The order of row_sums.hpp, said once more.
template <class T>
float sum_of_squares_model(const T* row, std::size_t hidden) {
  constexpr std::size_t kUnit = 8 / sizeof(T), kUnits = 64;
  float sum = 0;
  for (std::size_t begin = 0; begin < hidden; begin += kUnits * kUnit) {
    std::vector<float> squares(kUnits);
    for (std::size_t i = begin; i < begin + kUnits * kUnit && i < hidden; ++i) {
      float& of_unit = squares[(i - begin) / kUnit];
      of_unit = std::fmaf(static_cast<float>(row[i]), static_cast<float>(row[i]), of_unit);
    }
    for (std::size_t many = kUnits; many > 1; many /= 2)
      for (std::size_t i = 0; i < many / 2; ++i) squares[i] = squares[2 * i] + squares[2 * i + 1];
    sum += squares[0];
  }
  return sum;
}

template <class T>
struct NormModel {
  std::vector<T> residual_out, out;

  NormModel(const NormData<T>& data, std::size_t rows, std::size_t hidden, float epsilon)
      : residual_out(rows * hidden), out(rows * hidden) {
    for (std::size_t i = 0; i < rows * hidden; ++i) {
      auto sum = static_cast<float>(data.in[0][i]);
      for (std::size_t r = 1; r < data.in.size(); ++r) sum += static_cast<float>(data.in[r][i]);
      residual_out[i] = static_cast<T>(sum + static_cast<float>(data.residual[i]));
    }
    for (std::size_t row = 0; row < rows; ++row) {
      const T* const values = residual_out.data() + row * hidden;
      const float mean =
          sum_of_squares_model(values, hidden) / static_cast<float>(hidden) + epsilon;
      const float scale = 1.0f / std::sqrt(mean);
      double exact = 0;
      for (std::size_t i = 0; i < hidden; ++i)
        exact += static_cast<double>(static_cast<float>(values[i])) * static_cast<float>(values[i]);
      EXPECT_NEAR(scale * std::sqrt(exact / static_cast<double>(hidden) + epsilon), 1, 1e-5);
      for (std::size_t i = 0; i < hidden; ++i)
        out[row * hidden + i] = static_cast<T>(static_cast<float>(values[i]) * scale *
                                               static_cast<float>(data.weight[i]));
    }
  }
};

// Five matrices in memory of kernels, each between canaries.
template <class T>
class NormBuffers {
 public:
  static Result<NormBuffers> create(Runtime& rt, std::size_t count) {
    NormBuffers made;
    made.rt_ = &rt;
    made.room_ = count + 2 * kMargin;
    for (T*& matrix : made.all_) {
      ASSIGN_OR_RETURN(matrix, rt.allocate_device<T>(made.room_));
    }
    return made;
  }
  // `shift`: elements from a multiple of 16 bytes.
  Status prepare(const NormData<T>& data, bool in_place, std::size_t shift) {
    at_ = kMargin / 2 + shift;
    for (T* const matrix : all_) RETURN_IF_ERROR(poison(matrix));
    in = all_[0] + at_;
    residual = all_[1] + at_;
    weight = all_[2] + at_;
    out = in_place ? in : all_[3] + at_;
    residual_out = in_place ? residual : all_[4] + at_;
    RETURN_IF_ERROR(put(in, data.in[static_cast<std::size_t>(rt_->pe())]));
    RETURN_IF_ERROR(put(residual, data.residual));
    return put(weight, data.weight);
  }
  Status check(const NormModel<T>& model, const std::string& what) {
    RETURN_IF_ERROR(check(residual_out, model.residual_out, what + ": residual_out"));
    return check(out, model.out, what + ": out");
  }

  T *in = nullptr, *residual = nullptr, *weight = nullptr, *out = nullptr, *residual_out = nullptr;

 private:
  static constexpr std::size_t kMargin = 64;

  Status poison(T* matrix) {
    const Bytes nan(room_ * sizeof(T), std::byte{0xff});
    RETURN_IF_ERROR(rt_->context().put_bytes(matrix, nan.data(), nan.size(), rt_->pe()));
    return rt_->context().quiet();
  }
  Status put(T* to, const std::vector<T>& from) {
    RETURN_IF_ERROR(rt_->context().put_bytes(to, from.data(), from.size() * sizeof(T), rt_->pe()));
    return rt_->context().quiet();
  }
  Status check(const T* matrix, const std::vector<T>& want, const std::string& what) {
    Bytes seen(room_ * sizeof(T));
    RETURN_IF_ERROR(rt_->context().get_bytes(seen.data(), matrix - at_, seen.size(), rt_->pe()));
    const std::size_t begin = at_ * sizeof(T), end = begin + want.size() * sizeof(T);
    std::size_t wrong = 0, outside = 0;
    for (std::size_t i = 0; i < want.size(); ++i)
      wrong += std::memcmp(seen.data() + begin + i * sizeof(T), &want[i], sizeof(T)) != 0;
    for (std::size_t i = 0; i < seen.size(); ++i)
      outside += (i < begin || i >= end) && seen[i] != std::byte{0xff};
    EXPECT_EQ(wrong, 0u) << what << ": wrong elements of " << want.size();
    EXPECT_EQ(outside, 0u) << what << ": wrote beside it";
    return Status::ok();
  }

  Runtime* rt_ = nullptr;
  std::size_t room_ = 0, at_ = 0;
  T* all_[5] = {};
};

// `calls` calls of up to `max_rows` rows, none waited for before all are queued.
template <class T>
Status play_norms_of(Runtime& rt, DType dtype, std::size_t hidden, std::size_t max_rows,
                     const CollectiveOptions& options) {
  constexpr float kEpsilon = 1e-3f;
  constexpr int kCalls = 4;
  ASSIGN_OR_RETURN(AllReduceNorm norm,
                   AllReduceNorm::create(rt, {max_rows, hidden, dtype, kEpsilon}, options));
  std::mt19937_64 random(test_seed() + hidden);
  struct Played {
    NormData<T> data;
    std::size_t rows;
    std::string text;
  };
  std::vector<NormBuffers<T>> buffers;
  std::vector<Played> played;
  for (int i = 0; i < kCalls; ++i) {
    const std::size_t rows = i == 0 ? 0 : i == 1 ? max_rows : 1 + random() % max_rows;
    const bool in_place = random() % 2 == 0;
    const std::size_t shift = random() % 3 == 0 ? random() % 8 : 0;
    played.push_back(
        {NormData<T>(rt.npes(), rows, hidden, random()), rows,
         fmt::format("{} rows of {} {}, in place {}, shift {}, {}", rows, hidden, to_string(dtype),
                     in_place, shift, to_string(options.algorithm))});
    ASSIGN_OR_RETURN(NormBuffers<T> made, NormBuffers<T>::create(rt, max_rows * hidden));
    RETURN_IF_ERROR(made.prepare(played.back().data, in_place, shift));
    buffers.push_back(std::move(made));
  }
  for (std::size_t i = 0; i < played.size(); ++i) {
    const NormBuffers<T>& b = buffers[i];
    RETURN_IF_ERROR(
        norm(nullptr, b.out, b.residual_out, b.in, b.residual, b.weight, played[i].rows));
  }
  RETURN_IF_ERROR(dev::synchronize());
  for (std::size_t i = 0; i < played.size(); ++i) {
    const Played& p = played[i];
    if (p.rows == 0) continue;
    RETURN_IF_ERROR(buffers[i].check(NormModel<T>(p.data, p.rows, hidden, kEpsilon), p.text));
  }
  RETURN_IF_ERROR(rt.barrier());
  return rt.health();
}

inline Status play_norms(Runtime& rt, DType dtype, std::size_t hidden, std::size_t max_rows,
                         const CollectiveOptions& options) {
  if (dtype == DType::kFloat32) return play_norms_of<float>(rt, dtype, hidden, max_rows, options);
  if (dtype == DType::kFloat16) return play_norms_of<Half>(rt, dtype, hidden, max_rows, options);
  return play_norms_of<Bfloat16>(rt, dtype, hidden, max_rows, options);
}

}  // namespace weft::kernels::test

#include "perftest/gpu_fused/exact.hpp"

#include <cmath>
#include <cstring>

#include <weft/collective.hpp>
#include <weft/small_float.hpp>

#include "perftest/gpu_fused/bench.hpp"

namespace weft::perf::fused {
namespace {

// The elements of all PEs, as many of each, PE by PE. Collective.
template <class T>
Result<std::vector<T>> of_all(Runtime& rt, const std::vector<T>& mine) {
  const auto npes = static_cast<std::size_t>(rt.npes());
  T* shared = nullptr;
  ASSIGN_OR_RETURN(shared, rt.allocate<T>((npes + 1) * mine.size()));
  T* const own = shared + npes * mine.size();
  std::memcpy(own, mine.data(), mine.size() * sizeof(T));
  const Status status =
      fcollect_bytes(rt.context(), rt.world(), shared, own, mine.size() * sizeof(T));
  const std::vector<T> all(shared, own);
  RETURN_IF_ERROR(status);
  RETURN_IF_ERROR(rt.barrier());
  RETURN_IF_ERROR(rt.free(shared));
  return all;
}

Result<std::vector<std::uint16_t>> row_of(const std::uint16_t* matrix, std::uint64_t row,
                                          std::size_t k) {
  std::vector<std::uint16_t> host(k);
  RETURN_IF_ERROR(of(cudaMemcpy(host.data(), matrix + row * k, 2 * k, cudaMemcpyDeviceToHost)));
  return host;
}

Result<double> product(const Operands& operands, const Element& element) {
  std::vector<std::uint16_t> a, b;
  ASSIGN_OR_RETURN(a, row_of(operands.a, element.row, operands.k));
  ASSIGN_OR_RETURN(b, row_of(operands.b, element.column, operands.k));
  double sum = 0;
  for (std::size_t i = 0; i < operands.k; ++i) {
    Bfloat16 x, y;
    x.bits = a[i];
    y.bits = b[i];
    sum += static_cast<double>(static_cast<float>(x)) * static_cast<float>(y);
  }
  return sum;
}

}  // namespace

double Exact::error() const { return 0x1.1p-8 * (terms + std::fabs(sum)) + 0x1p-8; }

Result<std::vector<Exact>> exact_sums(Runtime& rt, const Operands& operands,
                                      const std::vector<Element>& elements) {
  std::vector<Element> asked;
  ASSIGN_OR_RETURN(asked, of_all(rt, elements));
  std::vector<double> products;
  for (const Element& element : asked) {
    double one = 0;
    ASSIGN_OR_RETURN(one, product(operands, element));
    products.push_back(one);
  }
  std::vector<double> all;
  ASSIGN_OR_RETURN(all, of_all(rt, products));
  std::vector<Exact> sums(elements.size());
  const std::size_t first = static_cast<std::size_t>(rt.pe()) * elements.size();
  for (std::size_t from = first; from < all.size(); from += products.size())
    for (std::size_t i = 0; i < sums.size(); ++i) {
      sums[i].sum += all[from + i];
      sums[i].terms += std::fabs(all[from + i]);
    }
  return sums;
}

}  // namespace weft::perf::fused

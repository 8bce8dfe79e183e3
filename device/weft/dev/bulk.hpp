// Bulk: a scope whose puts and gets go by the GPU's engine for bulk copies (NVIDIA's TMA, sm_90 and
// later), where it has one.
#pragma once

#include <cstddef>
#include <type_traits>

#include <weft/device/scope.hpp>

#include <weft/dev/copy.hpp>
#include <weft/dev/platform.hpp>
#include <weft/dev/scope.hpp>

namespace weft::dev {
inline namespace WEFT_TARGET {

inline constexpr std::size_t kLeastBulkBytes = 4096;  // fewer are there sooner by all threads
inline constexpr unsigned kLeastBulkStage = 1024;

template <class Scope>
class Bulk : public Scope {
 public:
  WEFT_DEVICE Bulk(Scope scope, std::byte* stage, unsigned bytes)
      : Scope(scope), stage_(stage), bytes_(bytes) {}
  WEFT_DEVICE const Scope& scope() const { return *this; }
  // The same of threads that know who they are.
  template <class Known>
  WEFT_DEVICE Bulk<Known> with(Known scope) const {
    return {scope, stage_, bytes_};
  }
  // The engine may copy it.
  WEFT_DEVICE bool takes(const std::byte* dst, const std::byte* src, std::size_t bytes) const {
    return platform::kHasBulkCopy && bytes >= kLeastBulkBytes && bytes_ >= kLeastBulkStage &&
           is_in_chunks(dst, src, bytes) && platform::is_in_memory(dst) &&
           platform::is_in_memory(src);
  }
  // By the leader; complete on return.
  WEFT_DEVICE void copy(std::byte* dst, const std::byte* src, std::size_t bytes) const {
    if (this->rank() == 0) platform::bulk_copy(stage_, bytes_, dst, src, bytes);
  }

 private:
  std::byte* stage_;
  unsigned bytes_;
};

}  // namespace WEFT_TARGET
}  // namespace weft::dev

// The closed form against doing the operations one by one.
#include "perftest/floor/atomics.hpp"
#include "perftest/tests/atomic_data.hpp"

#include <random>

#include <gtest/gtest.h>

namespace weft::perf {
namespace {

template <class T>
void check_all(std::uint64_t key) {
  const AtomicModel<T> model = AtomicModel<T>::of_word(key, 0);
  for (const auto& word : kAtomics) {
    const TypeInfo* type = nullptr;
    for (const TypeInfo& one : types())
      if (one.element == element_of<T>()) type = &one;
    if (!allowed(word.value, *type)) continue;
    with_atomic<T>(word.value, [&](auto atomic) {
      T value = model.first();
      for (Count i = 0; i < 50; ++i) {
        EXPECT_EQ(value, model.after(atomic(), i)) << word.name << " after " << i;
        const T old = floor::apply<atomic()>(&value, model.template operand_of<atomic()>(i),
                                             model.compare_of(i));
        if (is_fetching(atomic())) EXPECT_EQ(old, model.after(atomic(), i)) << word.name;
      }
      return 0;
    });
  }
}

TEST(AtomicModel, AgreesWithTheInstructions) {
  const std::uint64_t key = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "key " << key);
  check_all<std::int32_t>(key);
  check_all<std::uint32_t>(key);
  check_all<std::int64_t>(key);
  check_all<std::uint64_t>(key);
  check_all<float>(key);
  check_all<double>(key);
}

}  // namespace
}  // namespace weft::perf

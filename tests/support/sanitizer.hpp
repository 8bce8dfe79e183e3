// Which sanitizer this test was built with: some count memory and threads of their own.
#pragma once

#if defined(__SANITIZE_ADDRESS__)
#define WEFT_TEST_ASAN 1
#endif
#if defined(__SANITIZE_THREAD__)
#define WEFT_TEST_TSAN 1
#endif
#if defined(__has_feature)
#if __has_feature(address_sanitizer) && !defined(WEFT_TEST_ASAN)
#define WEFT_TEST_ASAN 1
#endif
#if __has_feature(thread_sanitizer) && !defined(WEFT_TEST_TSAN)
#define WEFT_TEST_TSAN 1
#endif
#endif

namespace weft {

#ifdef WEFT_TEST_ASAN
inline constexpr bool kAsan = true;
#else
inline constexpr bool kAsan = false;
#endif
#ifdef WEFT_TEST_TSAN
inline constexpr bool kTsan = true;
#else
inline constexpr bool kTsan = false;
#endif

}  // namespace weft

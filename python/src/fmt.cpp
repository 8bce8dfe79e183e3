// The functions of fmt that the objects of this build call from its library, as weak ones.
// Header-only everywhere, they would take longer to compile than all the rest.
#define FMT_HEADER_ONLY 1
#include <cstdio>
#include <iterator>
#include <string>

#include <fmt/format.h>

namespace weft::python {

// Called by nobody: what it names is compiled.
std::string use_of_fmt(double wide, float narrow, int number, const void* address) {
  std::string text = fmt::format("{} {} {:L} {:L} {} {:>5} {:x}", wide, narrow, number, wide,
                                 address, "text", number);
  fmt::vprint("{}", fmt::make_format_args(text));
  fmt::vprint(stderr, "{}", fmt::make_format_args(text));
  fmt::memory_buffer buffer;
  fmt::vformat_to(std::back_inserter(buffer), "{}", fmt::make_format_args(text));
  return fmt::vformat("{}", fmt::make_format_args(text)) + fmt::to_string(buffer);
}

}  // namespace weft::python

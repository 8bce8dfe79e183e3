// Lines, words and numbers of small texts. Not by iostreams: they find how numbers are read by
// symbols, and a process in which another library brings these symbols once more reads 0 for every
// number.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <vector>

namespace weft {

std::vector<std::string_view> lines_of(std::string_view text);
std::vector<std::string_view> words_of(std::string_view text);  // between blanks and line ends

// Nothing if `word` is anything but a number that fits.
template <class T>
std::optional<T> number_in(std::string_view word) {
  T value{};
  const char* const end = word.data() + word.size();
  const auto [rest, error] = std::from_chars(word.data(), end, value);
  if (error != std::errc() || rest != end) return std::nullopt;
  return value;
}

}  // namespace weft

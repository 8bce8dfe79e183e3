// First byte: which option; the rest: its text. A text that is accepted must keep the row's
// promises and read back as itself; a text that is refused must change nothing and say why.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "src/base/option_table.hpp"

namespace {

void require(bool holds, const char* what, const weft::OptionRow& row, const std::string& text) {
  if (holds) return;
  std::fprintf(stderr, "%.*s='%s': %s\n", static_cast<int>(row.env.size()), row.env.data(),
               text.c_str(), what);
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto table = weft::option_table();
  const weft::OptionRow& row = table[data[0] % table.size()];
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);

  weft::Options options;
  const weft::Status set = options.set(std::string(row.env), text);
  if (!set.is_ok()) {
    require(std::string_view(set.text()).find(row.env) != std::string_view::npos,
            "the error does not name it", row, text);
    require(row.get(options) == row.initial, "refused, yet changed", row, text);
  } else {
    require(options.verify().is_ok(), "accepted, yet out of range", row, text);
    const std::string shown = weft::value_text(row.kind, row.get(options));
    weft::Options again;
    require(again.set(std::string(row.env), shown).is_ok(), "shown in a form that is refused", row,
            text);
    if (row.kind != weft::OptionKind::kSeconds) {  // those are shown rounded
      require(row.get(again) == row.get(options), "shown as another value", row, text);
    }
  }
  // The text as a name.
  if (weft::find_option(text) == nullptr) {
    require(!options.set(text, "1").is_ok(), "an unknown name was taken", row, text);
  }
  return 0;
}

#include "host/info/report.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <sstream>

#include "host/info/machine.hpp"

namespace weft::info {
namespace {

const std::vector<Section> kSections = {
    {"one", {fact("name", "value"), fact("how many", "3 (numbers 0-2)", 3)}},
    {"capabilities", {there("huge pages", "yes"), missing("gpu", "none\nat all", "buy one")}},
};

TEST(Report, Text) {
  EXPECT_EQ(as_text(kSections),
            "one\n"
            "    name        value\n"
            "    how many    3 (numbers 0-2)\n"
            "\n"
            "capabilities\n"
            "  + huge pages  yes\n"
            "  - gpu         none\n"
            "                at all\n"
            "                mend: buy one\n");
}

TEST(Report, LongTextsBreakBetweenWordsInTheirColumn) {
  std::string words, word = "word";
  for (int i = 0; i < 100; ++i) words += fmt::format("{}{}{}", i == 0 ? "" : " ", word, i);
  const std::vector<Section> sections = {{"t", {fact("name", words)}}};
  const std::string text = as_text(sections);
  std::istringstream lines(text);
  std::string line, found;
  std::getline(lines, line);
  while (std::getline(lines, line)) {
    EXPECT_LE(line.size(), 110u);
    EXPECT_EQ(line.substr(0, 10), found.empty() ? "    name  " : "          ");
    found += (found.empty() ? "" : " ") + line.substr(10);
  }
  EXPECT_EQ(found, words);
}

TEST(Report, AWordThatIsTooLongStaysWhole) {
  const std::string path(300, 'x');
  EXPECT_EQ(as_text(std::vector<Section>{{"t", {fact("n", "a " + path + " b")}}}),
            "t\n    n  a\n       " + path + "\n       b\n");
}

TEST(Report, Json) {
  EXPECT_EQ(as_json(kSections), nlohmann::json::parse(R"({
    "one": {"name": "value", "how_many": 3},
    "capabilities": {
      "huge_pages": {"available": true, "detail": "yes"},
      "gpu": {"available": false, "detail": "none\nat all", "mend": "buy one"}}})"));
}

TEST(Report, NothingIsEmpty) {
  EXPECT_EQ(as_text({}), "");
  EXPECT_EQ(as_json({}), nlohmann::json::object());
}

TEST(Report, Sizes) {
  EXPECT_EQ(show_size(0), "0 bytes");
  EXPECT_EQ(show_size(1023), "1023 bytes");
  EXPECT_EQ(show_size(1536), "1.5 KiB");
  EXPECT_EQ(show_size(UINT64_MAX), "16 EiB");
}

}  // namespace
}  // namespace weft::info

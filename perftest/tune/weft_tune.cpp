// weft-tune: weft-perf's set tune under the name and with the options that it has had.
//
//   weft-run -n 8 weft-tune FILE           PEs are processes, on GPUs where there are
//   weft-tune --pes 2 FILE                 PEs are threads
//     --what NAME                          one collective; else all
//     --from BYTES --to BYTES              sizes: powers of two; 1024 to 134217728, on host threads
//                                          to 262144, by default
//
// Exit status: as weft-perf's.
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace {

constexpr int kMistake = 2;

// "" where weft-perf has no such option.
std::string_view option_of(std::string_view name) {
  if (name == "--pes") return name;
  if (name == "--from") return "-b";
  return name == "--to" ? "-e" : "";
}

// Weft-perf's command line; empty, having said why, where this one is wrong.
std::vector<std::string> translate(int argc, char** argv) {
  std::vector<std::string> made = {"weft-perf", "tune"};
  int i = 1;
  for (; i + 1 < argc; i += 2) {
    const std::string_view name = argv[i], option = option_of(name);
    if (name == "--what") {
      made[1] = fmt::format("tune_{}", argv[i + 1]);
    } else if (!option.empty()) {
      made.insert(made.end(), {std::string(option), argv[i + 1]});
    } else {
      fmt::print(stderr, "weft-tune: {}: no such option\n", name);
      return {};
    }
  }
  if (i == argc || argv[i][0] == '-') {
    fmt::print(stderr,
               "usage: [weft-run -n N] weft-tune [--pes N] [--what NAME] [--from BYTES] "
               "[--to BYTES] FILE\n");
    return {};
  }
  made.insert(made.end(), {"--table", argv[i]});
  return made;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> words = translate(argc, argv);
  if (words.empty()) return kMistake;
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  std::error_code error;
  const auto here = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  const std::string program = (here / "weft-perf").string();
  execv(program.c_str(), pointers.data());
  fmt::print(stderr, "weft-tune: {} cannot be run: {}; install it beside weft-tune\n", program,
             std::strerror(errno));
  return kMistake;
}

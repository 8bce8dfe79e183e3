// Runs a fuzz target without libFuzzer: every file of a corpus, then pseudo-random inputs, half of
// them made from files of the corpus by mutation. Input i of a seed is always the same, and a
// watching parent names and keeps the one that ended the run, however it ended.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using Input = std::vector<std::uint8_t>;

constexpr std::size_t kMostBytes = 512;

struct Arguments {
  std::uint64_t runs = 20000;
  std::uint64_t seed = std::random_device()();
  std::vector<std::string> paths;
};

int usage(const char* program, const std::string& problem) {
  std::fprintf(stderr, "%s: %s\nusage: %s [--runs N] [--seed S] [corpus folder or file]...\n",
               program, problem.c_str(), program);
  return 2;
}

bool read_number(const char* text, std::uint64_t* out) {
  char* end = nullptr;
  *out = std::strtoull(text, &end, 10);
  return *text != '\0' && *end == '\0';
}

std::vector<std::filesystem::path> files_of(const std::vector<std::string>& paths) {
  std::vector<std::filesystem::path> files;
  for (const std::string& path : paths) {
    if (std::filesystem::is_directory(path)) {
      for (const auto& entry : std::filesystem::directory_iterator(path)) {
        files.push_back(entry.path());
      }
    } else {
      files.emplace_back(path);
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

Input read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    std::fprintf(stderr, "cannot read %s\n", path.c_str());
    std::exit(2);
  }
  return Input(std::istreambuf_iterator<char>(file), {});
}

// splitmix64: a generator of one word, since every input begins with a fresh one.
class Random {
 public:
  Random(std::uint64_t seed, std::uint64_t index)
      : state_(seed * 0x9e3779b97f4a7c15 + index * 0xd1342543de82ef95) {}
  std::uint64_t operator()() {
    std::uint64_t word = state_ += 0x9e3779b97f4a7c15;
    word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9;
    word = (word ^ (word >> 27)) * 0x94d049bb133111eb;
    return word ^ (word >> 31);
  }

 private:
  std::uint64_t state_;
};

class Source {
 public:
  Source(std::vector<Input> corpus, std::uint64_t seed) : corpus_(std::move(corpus)), seed_(seed) {}

  Input make(std::uint64_t index) const {
    Random random(seed_, index);
    if (corpus_.empty() || random() % 2 == 0) return noise(random);
    Input input = corpus_[random() % corpus_.size()];
    for (auto changes = 1 + random() % 8; changes > 0; --changes) mutate(input, random);
    return input;
  }

 private:
  static Input noise(Random& random) {
    // Short ones often: they reach the edges of a format.
    Input input(random() % (std::size_t{1} << (random() % 10)));
    for (auto& byte : input) byte = static_cast<std::uint8_t>(random());
    return input;
  }

  void mutate(Input& input, Random& random) const {
    const std::size_t at = input.empty() ? 0 : random() % input.size();
    const auto place = input.begin() + static_cast<std::ptrdiff_t>(at);
    const auto rest = static_cast<std::ptrdiff_t>(input.size() - at);
    switch (random() % 6) {
      case 0:
        if (!input.empty()) *place = static_cast<std::uint8_t>(random());
        break;
      case 1:
        if (!input.empty()) *place = static_cast<std::uint8_t>(*place ^ (1U << (random() % 8)));
        break;
      case 2: input.insert(place, static_cast<std::uint8_t>(random())); break;
      case 3:
        input.erase(place, place + std::min(rest, static_cast<std::ptrdiff_t>(random() % 9)));
        break;
      case 4: {  // the tail of another
        const Input& other = corpus_[random() % corpus_.size()];
        input.resize(at);
        const std::size_t from = other.empty() ? 0 : random() % other.size();
        input.insert(input.end(), other.begin() + static_cast<std::ptrdiff_t>(from), other.end());
        break;
      }
      default: {  // a piece of itself once more
        const Input piece(place,
                          place + std::min(rest, static_cast<std::ptrdiff_t>(random() % 33)));
        input.insert(input.begin() + static_cast<std::ptrdiff_t>(at), piece.begin(), piece.end());
      }
    }
    if (input.size() > kMostBytes) input.resize(kMostBytes);
  }

  std::vector<Input> corpus_;
  std::uint64_t seed_;
};

// Runs all inputs; `progress` tells the parent which one is being run.
void run_all(const std::vector<Input>& corpus, const Source& source, std::uint64_t runs,
             std::atomic<std::uint64_t>& progress) {
  for (std::uint64_t i = 0; i < corpus.size() + runs; ++i) {
    progress.store(i);
    // A heap block of exactly this size, so that AddressSanitizer sees reads past its end.
    const Input input = i < corpus.size() ? corpus[i] : source.make(i - corpus.size());
    const Input exact(input.begin(), input.end());
    LLVMFuzzerTestOneInput(exact.data(), exact.size());
  }
}

void keep(const Input& input, const std::string& path) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(input.data()),
             static_cast<std::streamsize>(input.size()));
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--runs" || word == "--seed") {
      std::uint64_t* number = word == "--runs" ? &arguments.runs : &arguments.seed;
      if (++i == argc || !read_number(argv[i], number)) return usage(argv[0], word + " N");
    } else if (word.starts_with("-")) {
      return usage(argv[0], "unknown option " + word);
    } else {
      arguments.paths.push_back(word);
    }
  }
  for (const std::string& path : arguments.paths) {
    if (!std::filesystem::exists(path)) return usage(argv[0], "no such corpus: " + path);
  }

  const std::vector<std::filesystem::path> files = files_of(arguments.paths);
  std::vector<Input> corpus;
  for (const auto& file : files) corpus.push_back(read_file(file));
  const Source source(corpus, arguments.seed);
  std::printf("%zu files, then %llu inputs of seed %llu\n", files.size(),
              static_cast<unsigned long long>(arguments.runs),
              static_cast<unsigned long long>(arguments.seed));
  std::fflush(stdout);

  void* shared = ::mmap(nullptr, sizeof(std::atomic<std::uint64_t>), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return usage(argv[0], "no memory to share");
  auto* progress = new (shared) std::atomic<std::uint64_t>(0);
  const pid_t child = ::fork();
  if (child < 0) return usage(argv[0], "cannot fork");
  if (child == 0) {
    run_all(corpus, source, arguments.runs, *progress);
    std::exit(0);  // runs the leak check
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return 0;

  const std::uint64_t index = progress->load();
  const bool of_corpus = index < corpus.size();
  const std::string path = "crash-" + std::to_string(arguments.seed) + "-" + std::to_string(index);
  keep(of_corpus ? corpus[index] : source.make(index - corpus.size()), path);
  std::fprintf(stderr, "%s: %s %d while it ran %s; kept as %s\nrun it alone: %s --runs 0 %s\n",
               argv[0], WIFSIGNALED(status) ? "ended by signal" : "exit status",
               WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status),
               of_corpus ? files[index].c_str() : ("input " + std::to_string(index)).c_str(),
               path.c_str(), argv[0], path.c_str());
  return 1;
}

// process_test.py starts this in surroundings that other programs leave out: closed standard
// streams, children, no threads, small limits. A case each run, named by the first argument; 0
// means that all was as it should be. It uses the public interface only.
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <weft/device/cpu_grid.hpp>
#include <weft/weft.hpp>

#include "tests/support/refused_threads.hpp"
#include "tests/support/sanitizer.hpp"

namespace {

using weft::Code;
using weft::Context;
using weft::Options;
using weft::Runtime;
using weft::Status;
using Word = std::uint64_t;

constexpr int kSkipped = 77;  // the exit status of a case that cannot run here
constexpr std::size_t kWords = 1000;
constexpr std::size_t kChunk = std::size_t{1} << 20;

// Exit statuses are all that is left to a program without standard streams.
int failed_line = 0;
bool check(bool holds, int line) {
  if (!holds && failed_line == 0) {
    failed_line = line;
    std::fprintf(stderr, "line %d\n", line);
  }
  return holds;
}
#define CHECK(...) check((__VA_ARGS__), __LINE__)
int result() { return failed_line == 0 ? 0 : 1 + failed_line % 100; }

Options small_chunks() {
  Options options = Options::from_environment().value();
  options.heap_chunk = kChunk;
  return options;
}

// --- streams: what is printed goes where it should, or nowhere -----------------------------------

void print_much() {
  for (int i = 0; i < 2000; ++i) std::printf("a line of this program, number %d\n", i);
  for (int i = 0; i < 100; ++i) std::fprintf(stderr, "and of its errors, number %d\n", i);
  std::fflush(stdout);
}

bool all_are(const Word* words, Word value) {
  for (std::size_t i = 0; i < kWords; ++i)
    if (words[i] != value) return false;
  return true;
}

// Memory, sockets and events of the library are not behind a standard stream. Streams that were
// open from the beginning may be anything.
void check_streams(const std::vector<bool>& was_open) {
  for (int fd = 0; fd <= 2; ++fd) {
    struct stat info {};
    if (was_open[static_cast<std::size_t>(fd)] || ::fstat(fd, &info) != 0) continue;
    CHECK(S_ISDIR(info.st_mode));  // held so that nobody else gets it
  }
}

int streams() {
  std::vector<bool> was_open;
  for (int fd = 0; fd <= 2; ++fd) {
    struct stat info {};
    was_open.push_back(::fstat(fd, &info) == 0);
  }
  auto made = Runtime::create(small_chunks());
  if (!CHECK(made.is_ok())) return result();
  Runtime& rt = *made;
  const int right = (rt.pe() + 1) % rt.npes(), left = (rt.pe() + rt.npes() - 1) % rt.npes();
  std::vector<Word*> blocks;
  for (int turn = 0; turn < 3; ++turn) {
    if (turn == 1) {  // closed while the runtime lives
      ::close(0);
      was_open[0] = false;
    }
    auto words = rt.callocate<Word>(kWords);
    CHECK(words.is_ok() && rt.allocate<char>(2 * kChunk).is_ok());  // more memory, more descriptors
    const std::vector<Word> mine(kWords, 100 + static_cast<Word>(rt.pe()));
    print_much();
    CHECK(rt.context().put(*words, mine.data(), kWords, right).is_ok());
    CHECK(rt.barrier().is_ok());
    print_much();
    CHECK(rt.barrier().is_ok());
    blocks.push_back(*words);
    for (const Word* block : blocks) CHECK(all_are(block, 100 + static_cast<Word>(left)));
    check_streams(was_open);
    CHECK(rt.barrier().is_ok());
  }
  return result();
}

// A job that prints nothing.
int silent() {
  auto made = Runtime::create();
  CHECK(made.is_ok() && made->barrier().is_ok());
  return result();
}

// --- fork: a child has no part in the job
// ---------------------------------------------------------

// AddressSanitizer before that of LLVM 18 does not take the locks of its allocator at fork(): where
// another thread holds one, as those of a job may, a child waits for it for ever.
constexpr bool kChildMayAllocate = !weft::kAsan;

std::optional<Runtime> runtime;  // destroyed by exit()
std::optional<Context> context;

bool refused(const Status& status) {
  return status.is(Code::kInvalidArgument) &&
         std::string_view(status.text()).find("child of fork()") != std::string_view::npos;
}

void calls_of_a_child(Word* word) {
  Runtime& rt = *runtime;
  const int other = (rt.pe() + 1) % rt.npes();
  CHECK(rt.is_inherited());
  for (Context* ctx : {&rt.context(), &*context}) {
    const Word value = 1;
    Word got = 0;
    CHECK(refused(ctx->put(word, &value, 1, other)));
    CHECK(refused(ctx->put(word, &value, 1, rt.pe())));
    CHECK(refused(ctx->get(&got, word, 1, other)));
    CHECK(refused(ctx->atomic_add(word, Word{1}, other)));
    CHECK(refused(ctx->fence()));
    CHECK(refused(ctx->quiet()));
    CHECK(refused(weft::barrier(*ctx, rt.world())));
    CHECK(refused(weft::wait_until(*ctx, word, weft::Cmp::kEq, Word{77})));
    CHECK(refused(ctx->device().status()));
    CHECK(refused(weft::OnStream(*ctx, nullptr).barrier(rt.world())));
  }
  CHECK(refused(rt.barrier()));
  CHECK(refused(rt.health()));
  CHECK(refused(rt.allocate_bytes(64).status()));
  CHECK(refused(rt.free(word)));
  CHECK(refused(rt.create_context().status()));
  rt.abort(9, "nobody hears it");
}

void expect_child(pid_t pid, int status) {
  int ended = -1;
  CHECK(::waitpid(pid, &ended, 0) == pid);
  CHECK(WIFEXITED(ended) && WEXITSTATUS(ended) == status);
}

int fork_static() {
  if (!kChildMayAllocate) return kSkipped;
  auto made = Runtime::create();
  if (!CHECK(made.is_ok())) return result();
  runtime.emplace(std::move(*made));
  Runtime& rt = *runtime;
  context.emplace(rt.create_context().value());
  context->share();
  Word* const word = rt.callocate<Word>(1).value();
  for (int turn = 0; turn < 3; ++turn) {
    std::fflush(nullptr);
    const pid_t pid = ::fork();
    if (pid == 0 && turn == 0) std::exit(0);
    if (pid == 0 && turn == 1) {
      calls_of_a_child(word);
      std::exit(result());
    }
    if (pid == 0) {
      context.reset();
      runtime.reset();
      std::exit(5);
    }
    expect_child(pid, turn == 2 ? 5 : 0);
    CHECK(!rt.is_inherited());
    CHECK(rt.context().atomic_add(word, Word{1}, (rt.pe() + 1) % rt.npes()).is_ok());
    CHECK(rt.barrier().is_ok());
    CHECK(*word == static_cast<Word>(turn + 1));
    CHECK(rt.barrier().is_ok());
  }
  CHECK(rt.health().is_ok());
  return result();
}

// PEs that are threads; the child has the one that forked.
int fork_local() {
  if (!kChildMayAllocate) return kSkipped;
  const Status status = weft::run_local(3, [](Runtime& rt) -> Status {
    std::fflush(nullptr);
    const pid_t pid = ::fork();
    if (pid == 0) std::exit(rt.is_inherited() ? 0 : 1);
    expect_child(pid, 0);
    return rt.barrier();
  });
  CHECK(status.is_ok());
  return result();
}

// The parent's other threads hold locks when it forks, and a child has none of them to give those
// back: it makes calls all the same, and ends.
int fork_beside_threads() {
  if (!kChildMayAllocate) return kSkipped;
  auto made = Runtime::create();
  if (!CHECK(made.is_ok())) return result();
  runtime.emplace(std::move(*made));
  Runtime& rt = *runtime;
  context.emplace(rt.create_context().value());
  Word* const word = rt.callocate<Word>(1).value();
  std::atomic<bool> done{false};
  std::thread logs([&] {
    const Word value = 1;
    while (!done) CHECK(!context->put(word, &value, 1, rt.npes()).is_ok());
  });
  std::thread allocates([&] {
    while (!done) CHECK(rt.free(rt.allocate_bytes(64).value()).is_ok());
  });
  for (int turn = 0; turn < 100; ++turn) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      CHECK(refused(rt.health()));
      CHECK(refused(rt.context().put(word, word, 1, 0)));
      CHECK(refused(rt.allocate_bytes(64).status()));
      ::_exit(result());
    }
    expect_child(pid, 0);
  }
  done = true;
  logs.join();
  allocates.join();
  return result();
}

// A job of its own, which a child may have.
int fork_own() {
  if (!kChildMayAllocate) return kSkipped;
  auto made = Runtime::create();
  if (!CHECK(made.is_ok())) return result();
  std::fflush(nullptr);
  const pid_t pid = ::fork();
  if (pid == 0) {
    const Status status = weft::run_local(2, [](Runtime& rt) -> Status { return rt.barrier(); });
    std::exit(status.is_ok() ? 0 : 1);
  }
  expect_child(pid, 0);
  CHECK(made->barrier().is_ok());
  return result();
}

// --- threads that the system refuses
// --------------------------------------------------------------

bool names_threads(const Status& status) {
  return !status.is_ok() &&
         std::string_view(status.text()).find("no thread weft-") != std::string_view::npos;
}

int no_threads() {
  auto before = Runtime::create();  // of one PE; it needs none yet
  if (!CHECK(before.is_ok())) return result();
  if (!weft::refuse_threads(EAGAIN)) return kSkipped;
  const auto nothing = [](Runtime&) { return Status::ok(); };
  CHECK(names_threads(weft::run_local(2, nothing)));
  CHECK(names_threads(weft::UniqueId::create(2).status()));
  CHECK(names_threads(before->context().device().status()));  // the proxy's
  CHECK(!before->context().device().is_ok());                 // not half made at the first try
  const auto run = [](const void*, weft::cpu::ThreadState&) {};
  CHECK(names_threads(weft::cpu::launch(1, 4, 0, run, nullptr, nullptr)));
  CHECK(before->barrier().is_ok());
  return result();
}

// Under weft-run: what a PE of several cannot do without threads, it refuses on all PEs.
int no_threads_in_job() {
  if (std::atoi(std::getenv("WEFT_PE")) == 1 && !weft::refuse_threads(EPERM)) return kSkipped;
  const auto made = Runtime::create();
  CHECK(!made.is_ok());
  CHECK(std::string_view(made.status().text()).find("no thread weft-") != std::string_view::npos);
  return result();
}

int many_pes() {
  const auto nothing = [](Runtime&) { return Status::ok(); };
  for (const int npes : {5000, 2'000'000'000})
    CHECK(weft::run_local(npes, nothing).is(Code::kOutOfRange));
  return result();
}

// --- limits
// ---------------------------------------------------------------------------------------

// AddressSanitizer reserves more addresses for itself than any limit leaves.
int takes_limits() { return weft::kAsan ? kSkipped : 0; }

// Where there is little address space, the defaults shrink to it.
int limited_addresses() {
  auto made = Runtime::create();
  if (!CHECK(made.is_ok())) return result();
  const auto words = made->callocate<Word>(kWords);
  CHECK(words.is_ok() && made->allocate_bytes(std::size_t{16} << 20).is_ok());
  const Word mine = 7;
  const int right = (made->pe() + 1) % made->npes();
  CHECK(made->context().put(*words, &mine, 1, right).is_ok());
  CHECK(made->barrier().is_ok());
  CHECK(**words == 7);
  CHECK(made->barrier().is_ok());
  return result();
}

// A heap that grows far beyond what files may have, and a log.
int limited_files() {
  auto made = Runtime::create(small_chunks());
  if (!made.is_ok()) {
    const std::string_view text = made.status().text();
    CHECK(text.find("ulimit -f") != std::string_view::npos);
    return result();
  }
  for (int i = 0; i < 5; ++i) {
    const auto more = made->allocate_bytes(std::size_t{64} << 20);
    if (more.is_ok()) continue;
    CHECK(std::string_view(more.status().text()).find("ulimit -f") != std::string_view::npos);
  }
  CHECK(made->barrier().is_ok());
  return result();
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, int (*)()> cases = {{"streams", streams},
                                                  {"silent", silent},
                                                  {"fork_static", fork_static},
                                                  {"fork_local", fork_local},
                                                  {"fork_own", fork_own},
                                                  {"fork_beside_threads", fork_beside_threads},
                                                  {"no_threads", no_threads},
                                                  {"no_threads_in_job", no_threads_in_job},
                                                  {"many_pes", many_pes},
                                                  {"limited_files", limited_files},
                                                  {"limited_addresses", limited_addresses},
                                                  {"takes_limits", takes_limits}};
  const auto found = cases.find(argc > 1 ? argv[1] : "");
  return found == cases.end() ? 99 : found->second();
}

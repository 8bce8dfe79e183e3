#include "tests/conformance/transport_job.hpp"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <new>
#include <ostream>
#include <random>
#include <span>
#include <string_view>
#include <thread>

#include "src/base/clock.hpp"
#include "src/base/log.hpp"
#include "src/base/status.hpp"
#include "tests/multi_pe/gpu_driver.hpp"

namespace weft {

namespace {

constexpr std::size_t kReservation = std::size_t{64} << 20;
constexpr double kPatience = 120;  // seconds; only ends what hangs

// The bootstrap of forked processes: a page that they share.
class ForkBootstrap final : public Bootstrap {
 public:
  struct Board {
    pthread_barrier_t barrier;
    struct Note {
      std::uint64_t bytes;
      std::byte data[1 << 14];
    } notes[8];
  };

  ForkBootstrap(Board* board, int pe, int npes) : board_(board), pe_(pe), npes_(npes) {}
  std::string_view name() const override { return "fork"; }
  int pe() const override { return pe_; }
  int npes() const override { return npes_; }
  Result<std::vector<Blob>> allgather(std::span<const std::byte> mine) override {
    Board::Note& note = board_->notes[pe_];
    if (mine.size() > sizeof(note.data)) return Status::error(Code::kInternal, "note too long");
    note.bytes = mine.size();
    if (!mine.empty()) std::memcpy(note.data, mine.data(), mine.size());
    RETURN_IF_ERROR(barrier());
    std::vector<Blob> all;
    for (int pe = 0; pe < npes_; ++pe) {
      const Board::Note& theirs = board_->notes[pe];
      all.emplace_back(theirs.data, theirs.data + theirs.bytes);
    }
    RETURN_IF_ERROR(barrier());
    return all;
  }
  Status barrier() override {
    pthread_barrier_wait(&board_->barrier);
    return Status::ok();
  }
  void abort(int, std::string_view) override {}
  Status health() override { return Status::ok(); }
  Status leave() override { return Status::ok(); }

 private:
  Board* board_;
  int pe_, npes_;
};

Options options_of(const TransportJob& job) {
  Options options;
  options.transports = options.gpu_transports = job.transports;
  options.gpu_rdma = job.gpu_rdma;
#ifdef FAKE_VERBS_LIBRARY
  if (!has_rdma()) options.ib_library = FAKE_VERBS_LIBRARY;
#endif
  if (const char* const device = std::getenv("WEFT_IB_DEVICE"); device != nullptr && has_rdma())
    options.ib_device = device;
  if (job.verbs.find("rails") != std::string::npos) options.ib_device = "fake0,fake1";
  if (job.verbs.find("nic") != std::string::npos) options.ib_atomics = "nic";
  if (!has_fabric()) options.ofi_domain = "lo";
#ifdef FAULTY_FABRIC_LIBRARY
  if (!job.fabric.empty()) options.ofi_library = FAULTY_FABRIC_LIBRARY;
#endif
  if (!job.fault.empty())
    options.fault = job.fault + ",seed=" + std::to_string(test_seed() & 0xffffffff);
  return options;
}

// PEs take the GPUs in turn.
Result<Platform*> platform_of(const TransportJob& job, int pe) {
  if (!job.on_gpus) return &cpu_platform();
  return gpu::platform(driver(), pe % 2);
}

void run_pe(Bootstrap& bootstrap, const TransportJob& job,
            const std::function<void(TransportPe&)>& body) {
  set_log_pe(bootstrap.pe());
  const auto platform = platform_of(job, bootstrap.pe());
  ASSERT_OK(platform);
  TransportPe pe(bootstrap, options_of(job), **platform);
  ASSERT_NO_FATAL_FAILURE(pe.wire());
  body(pe);
  pe.barrier();  // nobody's heap goes away under a peer's put
}

void run_threads(const TransportJob& job, const std::function<void(TransportPe&)>& body) {
  if (!job.fabric.empty()) setenv("FAULTY_FABRIC", job.fabric.c_str(), 1);
  if (job.verbs == "glob") setenv("FAKE_VERBS_ATOMICS", "glob", 1);
  if (job.verbs.find("rails") != std::string::npos) setenv("FAKE_VERBS_DEVICES", "2", 1);
  auto bootstraps = make_local_bootstraps(job.npes, options_of(job));
  std::vector<std::thread> threads;
  for (auto& bootstrap : bootstraps) threads.emplace_back([&] { run_pe(*bootstrap, job, body); });
  for (std::thread& thread : threads) thread.join();
}

// A child of fork(), which starts drivers itself: it could not use mine.
pid_t start_child(const std::function<void()>& run) {
  const pid_t pid = fork();
  if (pid != 0) return pid;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  setenv("FAKE_GPU_NO_PEER", "0-1", 1);
  run();
  std::fflush(nullptr);
  _exit(::testing::Test::HasFailure() ? 1 : 0);
}

// The first that fails takes the others with it: they would wait for it.
void wait_for_children(std::vector<pid_t> children) {
  bool good = true;
  for (std::size_t left = children.size(); left > 0; --left) {
    int status = 0;
    const pid_t pid = waitpid(-1, &status, 0);
    const bool fine = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    for (std::size_t pe = 0; pe < children.size(); ++pe) {
      if (children[pe] != pid) continue;
      children[pe] = -1;
      if (!fine && good)
        ADD_FAILURE() << "the process of PE " << pe << " ended with status " << status;
    }
    if (fine || !good) continue;
    good = false;
    for (const pid_t child : children)
      if (child > 0) kill(child, SIGKILL);
  }
}

void run_processes(const TransportJob& job, const std::function<void(TransportPe&)>& body) {
  test_seed();  // the same for all
  void* memory = mmap(nullptr, sizeof(ForkBootstrap::Board), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto* board = new (memory) ForkBootstrap::Board;
  pthread_barrierattr_t attributes;
  pthread_barrierattr_init(&attributes);
  pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_barrier_init(&board->barrier, &attributes, static_cast<unsigned>(job.npes));
  std::fflush(nullptr);
  std::vector<pid_t> children;
  for (int pe = 0; pe < job.npes; ++pe) {
    children.push_back(start_child([&] {
      ForkBootstrap bootstrap(board, pe, job.npes);
      run_pe(bootstrap, job, body);
    }));
  }
  wait_for_children(children);
  munmap(memory, sizeof(ForkBootstrap::Board));
}

// The bootstrap of the launcher's job, for all tests of this process.
struct Launched {
  std::unique_ptr<Bootstrap> bootstrap;
  ~Launched() {
    if (bootstrap != nullptr) bootstrap->leave().ignore();
  }
};

// All have the seed of the first.
void share_seed(Bootstrap& bootstrap) {
  const std::uint64_t mine = std::random_device{}();
  const auto all = bootstrap.allgather(std::as_bytes(std::span(&mine, 1)));
  ASSERT_OK(all);
  std::uint64_t seed = 0;
  std::memcpy(&seed, all->front().data(), sizeof seed);
  setenv("WEFT_TEST_SEED", std::to_string(seed).c_str(), 0);
}

void run_launched(const TransportJob& job, const std::function<void(TransportPe&)>& body) {
  static Launched launched;
  if (launched.bootstrap == nullptr) {
    const auto options = Options::from_environment();
    ASSERT_OK(options);
    auto made = make_bootstrap(*options);
    ASSERT_OK(made);
    launched.bootstrap = std::move(*made);
    ASSERT_GT(launched.bootstrap->npes(), 1) << "no launcher has started this";
    ASSERT_NO_FATAL_FAILURE(share_seed(*launched.bootstrap));
  }
  run_pe(*launched.bootstrap, job, body);
}

}  // namespace

TransportPe::TransportPe(Bootstrap& bootstrap, const Options& options, Platform& platform)
    : bootstrap_(bootstrap), platform_(platform), options_(options) {}

void TransportPe::wire() {
  auto reserved = platform_.reserve(kReservation);
  ASSERT_OK(reserved);
  reservation_ = std::move(*reserved);
  TransportEnv env;
  env.pe = pe();
  env.npes = npes();
  env.platform = &platform_;
  env.is_gpu = !platform_.is_host_accessible();
  env.heap = reservation_.range();
  env.options = &options_;
  auto transports = make_transports(env);
  ASSERT_OK(transports);
  auto routes = connect_routes(std::move(*transports), bootstrap_);
  ASSERT_OK(routes);
  routes_ = std::move(*routes);
  queue_ = std::make_unique<LaneQueue>(routes_, host_lane(1));
  ASSERT_OK(grow());
}

TransportPe::~TransportPe() = default;

Status TransportPe::grow() {
  const std::uint64_t offset = committed();
  ASSIGN_OR_RETURN(Memory chunk, platform_.commit({heap() + offset, kChunk}, {}));
  RETURN_IF_ERROR(attach_chunk(routes_, bootstrap_, offset, chunk));
  chunks_.push_back(std::move(chunk));
  return Status::ok();
}

void TransportPe::post(const Op& op) {
  const Deadline deadline(kPatience);
  for (;;) {
    const Status status = queue_->post(op);
    if (!status.is(Code::kBusy)) {
      ASSERT_OK(status);
      return;
    }
    ASSERT_FALSE(deadline.expired()) << "always busy";
    queue_->progress();
    std::this_thread::yield();
  }
}

void TransportPe::quiet() {
  const Deadline deadline(kPatience);
  while (!queue_->all_done()) {
    queue_->flush();
    queue_->progress();
    ASSERT_FALSE(deadline.expired()) << queue_->outstanding() << " ops do not complete";
    std::this_thread::yield();
  }
  EXPECT_OK(queue_->take_error());
}

void TransportPe::wait_for(std::uint64_t offset, std::uint64_t value) {
  const Deadline deadline(kPatience);
  // acquire: pairs with the release of the notify, atomic or word that is put.
  while (__atomic_load_n(word(offset), __ATOMIC_ACQUIRE) != value) {
    queue_->progress();
    ASSERT_FALSE(deadline.expired()) << "PE " << pe() << ": the word at " << offset << " is "
                                     << *word(offset) << ", not " << value;
    std::this_thread::yield();
  }
}

bool is_launched() {
  const char* const pes = std::getenv("TEST_PES");
  return pes != nullptr && std::string_view(pes) == "launched";
}

bool has_rdma() {
  const char* const verbs = std::getenv("TEST_VERBS");
  return verbs != nullptr && std::string_view(verbs) == "real";
}

bool has_fabric() {
  const char* const fabric = std::getenv("TEST_FABRIC");
  return fabric != nullptr && std::string_view(fabric) == "real";
}

void PrintTo(const TransportJob& job, std::ostream* out) { *out << job.name; }

void run_job(const TransportJob& job, const std::function<void(TransportPe&)>& body) {
  if (job.pes == PesAre::kLaunched) return run_launched(job, body);
  if (job.pes == PesAre::kProcesses) return run_processes(job, body);
  // Drivers and networks start threads, and race detectors allow no process with threads to fork.
  const bool has_network = !job.network().empty() || !job.verbs.empty();
  if (!job.on_gpus && !has_network) return run_threads(job, body);
  test_seed();
  std::fflush(nullptr);
  wait_for_children({start_child([&] { run_threads(job, body); })});
}

}  // namespace weft

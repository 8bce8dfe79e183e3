// Start and end: one case each run, named by the first argument (host_lifecycle_test.py says what
// must come out).
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>

#include "tests/compat/nvshmem/host_check.hpp"

namespace {

// Something that needs the others.
void use() {
  int* const word = symmetric<int>(1);
  nvshmem_int_p(word, 10 + nvshmem_my_pe(), right());
  nvshmem_barrier_all();
  CHECK(read(word, 1)[0] == 10 + left());
  nvshmem_barrier_all();
  nvshmem_free(word);
}

int plain() {
  CHECK(nvshmemx_init_status() == NVSHMEM_STATUS_NOT_INITIALIZED);
  nvshmem_init();
  CHECK(nvshmemx_init_status() >= NVSHMEM_STATUS_IS_INITIALIZED);
  use();
  int major = 0, minor = 0, patch = -1;
  char name[NVSHMEM_MAX_NAME_LEN] = "";
  nvshmem_info_get_version(&major, &minor);
  CHECK(major == NVSHMEM_MAJOR_VERSION && minor == NVSHMEM_MINOR_VERSION);
  nvshmemx_vendor_get_version_info(&major, &minor, &patch);
  CHECK(major == NVSHMEM_VENDOR_MAJOR_VERSION && minor == NVSHMEM_VENDOR_MINOR_VERSION);
  CHECK(patch == NVSHMEM_VENDOR_PATCH_VERSION);
  nvshmem_info_get_name(name);
  CHECK(std::strcmp(name, NVSHMEM_VENDOR_STRING) == 0);
  nvshmem_finalize();
  CHECK(nvshmemx_init_status() == NVSHMEM_STATUS_NOT_INITIALIZED);
  return exit_status();
}

int again() {
  for (int turn = 0; turn < 3; ++turn) {
    nvshmem_init();
    use();
    nvshmem_team_t team = NVSHMEM_TEAM_INVALID;  // left to finalize
    CHECK(nvshmem_team_split_strided(NVSHMEM_TEAM_WORLD, 0, 1, 1, nullptr, 0, &team) == 0);
    CHECK((team != NVSHMEM_TEAM_INVALID) == (nvshmem_my_pe() == 0));
    nvshmem_finalize();
  }
  return exit_status();
}

// Each start has its end.
int nested() {
  nvshmem_init();
  nvshmem_init();
  nvshmem_finalize();
  use();
  nvshmem_finalize();
  CHECK(nvshmemx_init_status() == NVSHMEM_STATUS_NOT_INITIALIZED);
  return exit_status();
}

int threads(int level) {
  int provided = -1, asked = -1;
  CHECK(nvshmem_init_thread(level, &provided) == 0);
  nvshmem_query_thread(&asked);
  CHECK(provided >= level && asked == provided);
  use();
  nvshmem_finalize();
  return exit_status();
}

// The text of an id travels as bytes do between any processes: here in a file.
nvshmemx_uniqueid_t agreed_id(const std::string& path, int pe) {
  nvshmemx_uniqueid_t id = NVSHMEMX_UNIQUEID_INITIALIZER;
  if (pe == 0) {
    CHECK(nvshmemx_get_uniqueid(&id) == 0);
    std::ofstream(path + ".new", std::ios::binary).write(reinterpret_cast<char*>(&id), sizeof(id));
    std::rename((path + ".new").c_str(), path.c_str());
    return id;
  }
  while (!std::ifstream(path, std::ios::binary).read(reinterpret_cast<char*>(&id), sizeof(id)))
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  return id;
}

int unique_id(const std::string& path) {
  const int pe = std::atoi(std::getenv("WEFT_PE")), npes = std::atoi(std::getenv("WEFT_NPES"));
  nvshmemx_uniqueid_t id = agreed_id(path, pe);
  nvshmemx_init_attr_t attributes = NVSHMEMX_INIT_ATTR_INITIALIZER;
  for (int turn = 0; turn < 2; ++turn) {
    // The ranks in reverse: they are not those of the launcher.
    CHECK(nvshmemx_set_attr_uniqueid_args(npes - 1 - pe, npes, &id, &attributes) == 0);
    CHECK(nvshmemx_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID, &attributes) == 0);
    CHECK(nvshmem_my_pe() == npes - 1 - pe && nvshmem_n_pes() == npes);
    use();
    nvshmem_finalize();
  }
  return exit_status();
}

// PyTorch, DeepEP, PETSc and Kokkos leave the struct as the stack had it.
int attributes_not_initialised(const std::string& path) {
  const int pe = std::atoi(std::getenv("WEFT_PE")), npes = std::atoi(std::getenv("WEFT_NPES"));
  const nvshmemx_uniqueid_t id = agreed_id(path, pe);
  nvshmemx_init_attr_t attributes;
  std::memset(static_cast<void*>(&attributes), 0x7f, sizeof(attributes));
  CHECK(nvshmemx_set_attr_uniqueid_args(pe, npes, &id, &attributes) == 0);
  CHECK(nvshmemx_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID, &attributes) == 0);
  CHECK(nvshmem_my_pe() == pe && nvshmem_n_pes() == npes);
  use();
  nvshmem_finalize();
  return exit_status();
}

void device_library(void**, void**) {}

int hostlib() {
  CHECK(nvshmemx_hostlib_init_attr(0, nullptr) == 0);
  use();
  nvshmemx_hostlib_finalize();
  CHECK(nvshmemx_init_status() == NVSHMEM_STATUS_NOT_INITIALIZED);
  const nvshmemi_version_t version = {3, 4, 5};
  int provided = -1;
  CHECK(nvshmemid_hostlib_init_attr(NVSHMEM_THREAD_MULTIPLE, &provided, 0, nullptr, version,
                                    device_library) == NVSHMEMX_ERROR_NOT_SUPPORTED);
  CHECK(nvshmemid_init_status() == NVSHMEM_STATUS_NOT_INITIALIZED);
  CHECK(nvshmemid_hostlib_init_attr(NVSHMEM_THREAD_MULTIPLE, &provided, 0, nullptr, version,
                                    nullptr) == 0);
  CHECK(provided == NVSHMEM_THREAD_MULTIPLE);
  use();
  nvshmemid_hostlib_finalize(nullptr, nullptr);
  CHECK(nvshmemx_init_status() == NVSHMEM_STATUS_NOT_INITIALIZED);
  return exit_status();
}

// Each says why, and leaves everything as it was.
int refused() {
  nvshmemx_init_attr_t attributes = NVSHMEMX_INIT_ATTR_INITIALIZER;
  CHECK(nvshmemx_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID, nullptr) == NVSHMEMX_ERROR_INVALID_VALUE);
  CHECK(nvshmemx_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID, &attributes) != 0);
  nvshmemx_uniqueid_t id = NVSHMEMX_UNIQUEID_INITIALIZER;
  CHECK(nvshmemx_set_attr_uniqueid_args(0, 1, &id, &attributes) == 0);
  CHECK(nvshmemx_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID, &attributes) != 0);
  CHECK(nvshmemx_init_attr(NVSHMEMX_INIT_WITH_MPI_COMM, &attributes) != 0);
  CHECK(nvshmemx_init_attr(NVSHMEMX_INIT_WITH_SHMEM, &attributes) != 0);
  CHECK(nvshmemx_set_attr_uniqueid_args(2, 2, &id, &attributes) == NVSHMEMX_ERROR_INVALID_VALUE);
  int provided = 0;
  CHECK(nvshmem_init_thread(99, &provided) == NVSHMEMX_ERROR_INVALID_VALUE);
  CHECK(nvshmemx_init_status() == NVSHMEM_STATUS_NOT_INITIALIZED);
  return exit_status();
}

// Calls where there is no job: a report each, and a result that says no.
int without() {
  int word = 0;
  nvshmem_int_p(&word, 1, 0);
  CHECK(nvshmem_malloc(8) == nullptr);
  CHECK(nvshmem_my_pe() == -1);
  CHECK(nvshmem_n_pes() == -1);
  CHECK(nvshmem_int_atomic_fetch_inc(&word, 0) == 0);
  nvshmem_quiet();
  nvshmem_barrier_all();
  CHECK(nvshmem_int_sum_reduce(NVSHMEM_TEAM_WORLD, &word, &word, 1) != 0);
  nvshmem_team_t team = 5;
  CHECK(nvshmem_team_split_strided(NVSHMEM_TEAM_WORLD, 0, 1, 1, nullptr, 0, &team) != 0);
  CHECK(team == NVSHMEM_TEAM_INVALID);
  nvshmem_finalize();
  return exit_status();
}

int after() {
  nvshmem_init();
  nvshmem_finalize();
  return without();
}

// A child that ends, by whatever call, ends nobody's job but its own process.
int fork_then(const std::string& end) {
  nvshmem_init();
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    if (end == "calls") {
      CHECK(nvshmem_malloc(8) == nullptr);
      CHECK(nvshmem_team_sync(NVSHMEM_TEAM_WORLD) != 0);
      nvshmem_barrier_all();
      int provided = 0;
      CHECK(nvshmem_init_thread(0, &provided) != 0);
    }
    if (end == "finalize") nvshmem_finalize();
    if (end == "global_exit") nvshmem_global_exit(0);
    std::exit(exit_status());
  }
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  use();
  nvshmem_finalize();
  return exit_status();
}

// Far more than can have run when nvshmem_free and nvshmem_finalize are called, and nobody waits
// for it: their barriers are of no team that it uses.
int queued() {
  nvshmem_init();
  constexpr std::size_t kCount = 5000;
  constexpr int kRounds = 50;
  int* const from = symmetric<int>(kCount);
  int* const to = symmetric<int>(kCount);
  write(from, std::vector<int>(kCount, 1));
  nvshmem_barrier_all();
  for (int i = 0; i < kRounds; ++i) {
    CHECK(nvshmemx_int_sum_reduce_on_stream(NVSHMEM_TEAM_WORLD, to, from, kCount, nullptr) == 0);
    CHECK(nvshmemx_int_sum_reduce_on_stream(NVSHMEM_TEAM_WORLD, from, to, kCount, nullptr) == 0);
  }
  static int last = 0;
  nvshmemx_int_get_on_stream(&last, to, 1, nvshmem_my_pe(), nullptr);
  nvshmem_free(symmetric<int>(kCount));
  const bool is_one = nvshmem_n_pes() == 1;
  const bool on_host = std::getenv("WEFT_CUDA_LIBRARY") == nullptr;
  nvshmem_finalize();
  if (is_one && on_host) CHECK(last == 1);
  return exit_status();
}

// The heap is as large as NVSHMEM_SYMMETRIC_SIZE says, and not much larger.
int small_heap() {
  nvshmem_init();
  void* const fits = nvshmem_malloc(std::size_t{48} << 20);
  CHECK(fits != nullptr);
  CHECK(nvshmem_malloc(std::size_t{1} << 30) == nullptr);
  nvshmem_free(fits);
  nvshmem_finalize();
  return exit_status();
}

int leave_all(int pe, int code) {
  nvshmem_init();
  if (nvshmem_my_pe() == pe) nvshmem_global_exit(code);
  for (;;) pause();
}

}  // namespace

int main(int argc, char** argv) {
  const std::string name = argc > 1 ? argv[1] : "plain";
  const auto number = [&](int i) { return argc > i ? std::atoi(argv[i]) : 0; };
  if (name == "plain") return plain();
  if (name == "again") return again();
  if (name == "nested") return nested();
  if (name == "threads") return threads(number(2));
  if (name == "unique_id") return unique_id(argv[2]);
  if (name == "attributes_not_initialised") return attributes_not_initialised(argv[2]);
  if (name == "hostlib") return hostlib();
  if (name == "refused") return refused();
  if (name == "fork") return fork_then(argc > 2 ? argv[2] : "");
  if (name == "queued") return queued();
  if (name == "before") return without();
  if (name == "after") return after();
  if (name == "small_heap") return small_heap();
  if (name == "global_exit") return leave_all(number(2), number(3));
  if (name == "init") nvshmem_init();
  std::fprintf(stderr, "no such case, or it went on: %s\n", name.c_str());
  return 99;
}

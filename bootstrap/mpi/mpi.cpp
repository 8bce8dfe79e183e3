// MPI without its headers. Two families of libraries differ in what a handle is: Open MPI has
// addresses of its own objects, MPICH (and all that keep its ABI) has numbers.
#include "bootstrap/mpi/mpi.hpp"

#include <sched.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bootstrap/launcher.hpp"
#include "src/base/dynlib.hpp"
#include "src/base/log.hpp"
#include "src/base/status.hpp"
#include "src/base/text.hpp"

namespace weft {
namespace {

constexpr int kMostNameBytes = 256;  // no family's MPI_MAX_PROCESSOR_NAME is larger
constexpr int kThreadMultiple = 3;

std::vector<std::string> library_names(bool mpich) {
  std::vector<std::string> names = {"libmpi.so.40", "libmpich.so.12", "libmpi.so.12", "libmpi.so"};
  if (mpich) std::rotate(names.begin(), names.begin() + 1, names.begin() + 3);
  return names;
}

Result<Dynlib> open_library(const Options& options, bool mpich) {
  auto names = library_names(mpich);
  if (!options.mpi_library.empty()) names = {options.mpi_library};
  // A program has one MPI: what it has loaded comes before what could be.
  if (auto own = Dynlib::loaded(names)) return own;
  auto library = Dynlib::open(names, Dynlib::Scope::kGlobal);
  if (library) return library;
  return Status::error(
      Code::kUnsupported,
      fmt::format("no MPI library can be loaded: {}. Install the one of your launcher (Debian and "
                  "Ubuntu: libopenmpi3 or libmpich12), or name its file in WEFT_MPI_LIBRARY",
                  library.status().text()));
}

bool is_open_mpi(const Dynlib& library) { return library.has("ompi_mpi_comm_world"); }

template <class Handle>
struct Family;

template <>
struct Family<void*> {  // Open MPI
  static Status handles(const Dynlib& library, void*& world, void*& byte) {
    RETURN_IF_ERROR(library.find_object("ompi_mpi_comm_world", world));
    return library.find_object("ompi_mpi_byte", byte);
  }
  static void* status_ignore() { return nullptr; }
};

template <>
struct Family<int> {  // MPICH
  static Status handles(const Dynlib&, int& world, int& byte) {
    world = 0x44000000;
    byte = 0x4c00010d;
    return Status::ok();
  }
  static void* status_ignore() { return reinterpret_cast<void*>(std::uintptr_t{1}); }
};

template <class Handle>
class MpiLauncher final : public Launcher {
 public:
  ~MpiLauncher() override = default;

  Status load(const Dynlib& library);
  Status greet(const Deadline& deadline);

  std::string_view name() const override { return "mpi"; }
  int pe() const override { return pe_; }
  int npes() const override { return npes_; }
  bool one_host() const override { return one_host_; }

  Result<std::string> broadcast(std::string_view text, const Deadline& deadline) override;

  void abort(int code) override {
    if (!is_over()) (void)abort_(world_, code);
  }

  void finalize() override {
    if (mine_ && !is_over()) (void)finalize_();
  }

 private:
  using Bytes = std::shared_ptr<std::vector<char>>;
  Status check(int result, const char* call) const {
    if (result == 0) return Status::ok();
    return Status::error(Code::kIo, fmt::format("MPI_{} failed with error {}", call, result));
  }
  bool is_over() const {
    int over = 0;
    return finalized_(&over) != 0 || over != 0;
  }
  // A request that is not over by then may still write: its memory stays.
  Status wait(Handle request, const Deadline& deadline, const char* what,
              std::initializer_list<Bytes> memory);
  Status broadcast_bytes(const Bytes& bytes, const Deadline& deadline);

  int (*initialized_)(int*) = nullptr;
  int (*finalized_)(int*) = nullptr;
  int (*init_thread_)(int*, char***, int, int*) = nullptr;
  int (*finalize_)() = nullptr;
  int (*abort_)(Handle, int) = nullptr;
  int (*rank_)(Handle, int*) = nullptr;
  int (*size_)(Handle, int*) = nullptr;
  int (*name_)(char*, int*) = nullptr;
  int (*broadcast_)(void*, int, Handle, int, Handle, Handle*) = nullptr;
  int (*allgather_)(const void*, int, Handle, void*, int, Handle, Handle, Handle*) = nullptr;
  int (*test_)(Handle*, int*, void*) = nullptr;
  Handle world_{};
  Handle byte_{};
  bool mine_ = false;  // initialised here, so finalised here
  int pe_ = -1;
  int npes_ = 0;
  bool one_host_ = false;
};

template <class Handle>
Status MpiLauncher<Handle>::load(const Dynlib& library) {
  RETURN_IF_ERROR(library.find("MPI_Initialized", initialized_));
  RETURN_IF_ERROR(library.find("MPI_Finalized", finalized_));
  RETURN_IF_ERROR(library.find("MPI_Init_thread", init_thread_));
  RETURN_IF_ERROR(library.find("MPI_Finalize", finalize_));
  RETURN_IF_ERROR(library.find("MPI_Abort", abort_));
  RETURN_IF_ERROR(library.find("MPI_Comm_rank", rank_));
  RETURN_IF_ERROR(library.find("MPI_Comm_size", size_));
  RETURN_IF_ERROR(library.find("MPI_Get_processor_name", name_));
  RETURN_IF_ERROR(library.find("MPI_Ibcast", broadcast_));
  RETURN_IF_ERROR(library.find("MPI_Iallgather", allgather_));
  RETURN_IF_ERROR(library.find("MPI_Test", test_));
  return Family<Handle>::handles(library, world_, byte_);
}

template <class Handle>
Status MpiLauncher<Handle>::greet(const Deadline& deadline) {
  int running = 0, given = 0;
  RETURN_IF_ERROR(check(initialized_(&running), "Initialized"));
  if (running == 0) {
    RETURN_IF_ERROR(check(init_thread_(nullptr, nullptr, kThreadMultiple, &given), "Init_thread"));
    mine_ = true;
  } else if (is_over()) {
    return Status::error(Code::kInvalidArgument,
                         "MPI has been finalised in this process; create the runtime before");
  }
  RETURN_IF_ERROR(check(rank_(world_, &pe_), "Comm_rank"));
  RETURN_IF_ERROR(check(size_(world_, &npes_), "Comm_size"));

  const auto here = std::make_shared<std::vector<char>>(kMostNameBytes);
  const auto all =
      std::make_shared<std::vector<char>>(here->size() * static_cast<std::size_t>(npes_));
  int length = 0;
  RETURN_IF_ERROR(check(name_(here->data(), &length), "Get_processor_name"));
  Handle request{};
  RETURN_IF_ERROR(check(allgather_(here->data(), kMostNameBytes, byte_, all->data(), kMostNameBytes,
                                   byte_, world_, &request),
                        "Iallgather"));
  RETURN_IF_ERROR(wait(request, deadline, "the names of their hosts", {here, all}));
  one_host_ = true;
  for (auto name = all->begin(); name != all->end(); name += kMostNameBytes) {
    one_host_ = one_host_ && std::equal(here->begin(), here->end(), name);
  }
  return Status::ok();
}

template <class Handle>
Status MpiLauncher<Handle>::wait(Handle request, const Deadline& deadline, const char* what,
                                 std::initializer_list<Bytes> memory) {
  for (;;) {
    int done = 0;
    RETURN_IF_ERROR(check(test_(&request, &done, Family<Handle>::status_ignore()), "Test"));
    if (done != 0) return Status::ok();
    if (deadline.expired()) {
      static auto* const kept = new std::vector<Bytes>;
      kept->insert(kept->end(), memory);
      return Status::error(Code::kTimeout, fmt::format("waited {:.3g} s for all processes of "
                                                       "MPI_COMM_WORLD to exchange {}",
                                                       deadline.waited_seconds(), what));
    }
    ::sched_yield();
  }
}

template <class Handle>
Status MpiLauncher<Handle>::broadcast_bytes(const Bytes& bytes, const Deadline& deadline) {
  Handle request{};
  RETURN_IF_ERROR(
      check(broadcast_(bytes->data(), static_cast<int>(bytes->size()), byte_, 0, world_, &request),
            "Ibcast"));
  return wait(request, deadline, "where they meet", {bytes});
}

// The length first, in digits.
template <class Handle>
Result<std::string> MpiLauncher<Handle>::broadcast(std::string_view text,
                                                   const Deadline& deadline) {
  const std::string digits = fmt::format("{:10}", pe_ == 0 ? text.size() : 0);
  const auto length = std::make_shared<std::vector<char>>(digits.begin(), digits.end());
  RETURN_IF_ERROR(broadcast_bytes(length, deadline));
  const auto words = words_of({length->data(), length->size()});
  const std::size_t size = words.empty() ? 0 : number_in<std::size_t>(words[0]).value_or(0);
  const auto whole = std::make_shared<std::vector<char>>(text.begin(), text.end());
  whole->resize(size);
  RETURN_IF_ERROR(broadcast_bytes(whole, deadline));
  return std::string(whole->begin(), whole->end());
}

template <class Handle>
Result<std::unique_ptr<Launcher>> make(const Dynlib& library, const Deadline& deadline) {
  auto launcher = std::make_unique<MpiLauncher<Handle>>();
  RETURN_IF_ERROR(launcher->load(library));
  RETURN_IF_ERROR(launcher->greet(deadline));
  return std::unique_ptr<Launcher>(std::move(launcher));
}

}  // namespace

bool mpi_is_running() {
  const auto library = Dynlib::loaded(library_names(false));
  if (!library) return false;
  int (*initialized)(int*) = nullptr;
  int (*finalized)(int*) = nullptr;
  if (!library->find("MPI_Initialized", initialized).is_ok()) return false;
  if (!library->find("MPI_Finalized", finalized).is_ok()) return false;
  int began = 0, over = 0;
  return initialized(&began) == 0 && began != 0 && finalized(&over) == 0 && over == 0;
}

Result<std::string> describe_mpi(const Options& options, bool mpich) {
  ASSIGN_OR_RETURN(const Dynlib library, open_library(options, mpich));
  int (*version)(char*, int*) = nullptr;
  RETURN_IF_ERROR(library.find("MPI_Get_library_version", version));
  std::array<char, 16384> text{};
  int length = 0;
  (void)version(text.data(), &length);
  std::string first(text.data());
  first.resize(std::min({first.size(), first.find(','), first.find('\n')}));
  std::replace(first.begin(), first.end(), '\t', ' ');
  return fmt::format("{} ({})", first, library.path());
}

Result<std::unique_ptr<Launcher>> make_mpi_launcher(const Options& options, bool mpich) {
  ASSIGN_OR_RETURN(const Dynlib library, open_library(options, mpich));
  const Deadline deadline(options.start_timeout);
  return is_open_mpi(library) ? make<void*>(library, deadline) : make<int>(library, deadline);
}

}  // namespace weft

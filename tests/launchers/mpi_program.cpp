// An MPI program whose PEs are the ranks of a communicator: first all, then those of odd rank, and
// then, without being told, whatever make_bootstrap() finds in a process with MPI.
#include <weft/mpi.hpp>
#include <weft/weft.hpp>

#include <cstdio>
#include <string>

namespace {

int complain(const weft::Status& status) {
  std::fprintf(stderr, "%s\n", status.to_string().c_str());
  MPI_Abort(MPI_COMM_WORLD, 1);
  return 1;
}

// Each PE adds its number + 1 to a sum on PE 0.
weft::Status add_up(weft::Runtime& runtime) {
  auto sum = runtime.callocate<long>(1);
  if (!sum) return sum.status();
  const weft::Status added = runtime.context().atomic_add(*sum, runtime.pe() + 1L, 0);
  if (!added) return added;
  if (const weft::Status met = runtime.barrier(); !met) return met;
  const long wanted = runtime.npes() * (runtime.npes() + 1L) / 2;
  if (runtime.pe() != 0 || **sum == wanted) return weft::Status::ok();
  return weft::Status::error(weft::Code::kInternal, "the sum is " + std::to_string(**sum));
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  {
    auto all = weft::create_runtime(MPI_COMM_WORLD);
    if (!all) return complain(all.status());
    if (const weft::Status status = add_up(*all); !status) return complain(status);
    std::printf("all: PE %d of %d\n", all->pe(), all->npes());
  }
  MPI_Comm odd = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2 == 1 ? 0 : MPI_UNDEFINED, rank, &odd);
  if (odd != MPI_COMM_NULL) {
    auto some = weft::create_runtime(odd);
    if (!some) return complain(some.status());
    if (const weft::Status status = add_up(*some); !status) return complain(status);
    std::printf("odd: PE %d of %d\n", some->pe(), some->npes());
  }
  if (odd != MPI_COMM_NULL) MPI_Comm_free(&odd);
  {
    auto found = weft::Runtime::create();
    if (!found) return complain(found.status());
    if (const weft::Status status = add_up(*found); !status) return complain(status);
    const std::string about = found->describe();
    const auto at = about.find("bootstrap ");
    std::printf("%s: PE %d of %d\n", about.substr(at, about.find(',', at) - at).c_str(),
                found->pe(), found->npes());
  }
  MPI_Finalize();
  return 0;
}

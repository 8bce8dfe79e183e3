#include "python/src/operators.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include <weft/kernels/ag_gemm.hpp>
#include <weft/kernels/all_reduce_norm.hpp>
#include <weft/kernels/collectives.hpp>
#include <weft/kernels/gemm.hpp>
#include <weft/kernels/gemm_ar.hpp>
#include <weft/kernels/gemm_rs.hpp>
#include <weft/kernels/stream.hpp>

#include "python/src/errors.hpp"
#include "python/src/named.hpp"
#include "python/src/operations.hpp"
#include "python/src/tensor.hpp"

namespace weft::python {
namespace {

namespace nb = nanobind;
namespace wk = weft::kernels;
using namespace nb::literals;

// An operator of a job, whose parts of symmetric memory it has until all PEs have dropped it.
template <class Op>
class Operator {
 public:
  // create(runtime): collective, and makes the same operator on all PEs.
  template <class Create>
  Operator(JobPtr job, int team_size, const DType& dtype, Create create)
      : job_(std::move(job)), team_size_(team_size), dtype_(&dtype) {
    check_not_captured(*job_);
    object_ = value_of(unlocked([&] {
      return job_->add_object([&](Runtime& runtime) -> Result<std::shared_ptr<void>> {
        auto made = create(runtime);
        if (!made) return made.status();
        return std::shared_ptr<void>(std::make_shared<Op>(std::move(*made)));
      });
    }));
  }

  const DType& dtype() const { return *dtype_; }
  int team_size() const { return team_size_; }
  // question(op), which does not wait for others.
  template <class Question>
  auto ask(Question question) const {
    const auto use = value_of(job_->use());
    return question(std::as_const(op()));
  }
  std::string describe() const {
    return ask([](const Op& op) { return op.describe(); });
  }
  std::size_t workspace_bytes() const {
    if constexpr (requires(const Op& op) { op.workspace_bytes(); })
      return ask([](const Op& op) { return op.workspace_bytes(); });
    return 0;
  }
  // call(op, stream): on a GPU it is queued when this returns, on host threads it has run.
  template <class Call>
  void run(Handle stream, Call call) const {
    const auto use = value_of(job_->use());
    const Stream queue = stream_of(*job_, stream);
    queue_on(*job_, *use, queue, [&] { return call(op(), queue); });
  }
  // An argument with elements of that type, where the operator's kernels run.
  View array(const char* name, Handle given, const DType& dtype, Access access) const {
    View view = view_of(name, given, access);
    if (view.dtype != &dtype)
      raise_argument(fmt::format("argument {} has elements of {}; the operator was made for {}",
                                 name, view.dtype->name, dtype.name));
    check_place(
        name, view, job_->gpu_number(),
        job_->gpu() == nullptr
            ? "the operator's job runs on host threads; weft.init(device=\"cuda\") takes a GPU"
            : "the operator's job runs on a GPU; weft.init(device=\"cpu\") takes none");
    return view;
  }

 private:
  Op& op() const { return *static_cast<Op*>(object_->get()); }

  JobPtr job_;
  int team_size_;
  const DType* dtype_;
  std::shared_ptr<JobObject> object_;
};

// --- arguments -----------------------------------------------------------------------------------

wk::DType kernel_dtype(const char* what, const DType& dtype) {
  if (std::string_view(dtype.name) == "float8_e4m3fn") return wk::DType::kFloat8E4m3;
  for (int i = 0; i < wk::kDTypes; ++i)
    if (std::string_view(dtype.name) == wk::to_string(static_cast<wk::DType>(i)))
      return static_cast<wk::DType>(i);
  raise(Status::error(Code::kUnsupported,
                      fmt::format("weft.{} does not take elements of {}", what, dtype.name)));
}

std::size_t count_of(const char* name, std::int64_t given) {
  if (given < 0)
    raise_argument(fmt::format("argument {} is {}; a count is not negative", name, given));
  return static_cast<std::size_t>(given);
}
wk::CollectiveProblem problem_of(const char* what, std::int64_t max_count, const DType& dtype,
                                 const std::string& op) {
  wk::CollectiveProblem problem;
  problem.max_count = count_of("max_count", max_count);
  problem.dtype = kernel_dtype(what, dtype);
  static constexpr std::pair<const char*, ReduceOp> kOps[] = {
      {"sum", ReduceOp::kSum}, {"min", ReduceOp::kMin}, {"max", ReduceOp::kMax}};
  problem.op = named("op", op, kOps);
  return problem;
}
// Moves take any type, as its bytes.
wk::CollectiveProblem problem_of_bytes(std::int64_t max_count, const DType& dtype) {
  return {.max_count = elements_of({static_cast<std::int64_t>(count_of("max_count", max_count))},
                                   dtype.bytes) *
                       dtype.bytes,
          .dtype = wk::DType::kUint8};
}

const Team& team_for(Runtime& runtime, const TeamOf* given) {
  return given != nullptr ? given->team : runtime.world();
}
int size_for(const JobPtr& job, const TeamOf* given) {
  if (given != nullptr && given->job.get() != job.get())
    raise_argument("argument team is of another job than the current one");
  return given != nullptr ? given->team.size : value_of(job->use())->npes();
}

// why() says so in words, once it is asked.
template <class Why>
void check_count(const char* name, const View& view, std::size_t wanted, Why why) {
  if (view.count != wanted)
    raise_argument(
        fmt::format("argument {} has {} elements; it has {}: {}", name, view.count, wanted, why()));
}

// --- collectives ---------------------------------------------------------------------------------

template <class Op>
std::shared_ptr<Operator<Op>> make_collective(const JobPtr& job,
                                              const wk::CollectiveProblem& problem,
                                              const DType& dtype, const TeamOf* team) {
  return std::make_shared<Operator<Op>>(job, size_for(job, team), dtype, [&](Runtime& runtime) {
    return Op::create(runtime, team_for(runtime, team), problem);
  });
}

// out and in of a call, whose shares of `count` elements are `out_blocks` and `in_blocks`.
struct InOut {
  template <class Op>
  InOut(const Operator<Op>& made, Handle out_given, Handle in_given, int out_blocks, int in_blocks)
      : out(made.array("out", out_given, made.dtype(), Access::kWrite)),
        in(made.array("inp", in_given, made.dtype(), Access::kRead)) {
    const View& whole = out_blocks > 1 ? out : in;
    const auto blocks = static_cast<std::size_t>(std::max(out_blocks, in_blocks));
    if (whole.count % blocks != 0)
      raise_argument(fmt::format("argument {} has {} elements, which are no {} blocks",
                                 out_blocks > 1 ? "out" : "inp", whole.count, blocks));
    count = whole.count / blocks;
    check_count("out", out, count * static_cast<std::size_t>(out_blocks),
                [&] { return fmt::format("{} for each {} of inp", out_blocks, in_blocks); });
    check_count("inp", in, count * static_cast<std::size_t>(in_blocks),
                [&] { return fmt::format("{} for each {} of out", in_blocks, out_blocks); });
  }
  View out, in;
  std::size_t count;
};

template <class Op>
nb::class_<Operator<Op>> add_class(nb::module_& m, const char* name) {
  return nb::class_<Operator<Op>>(m, name)
      .def_prop_ro("dtype", [](const Operator<Op>& made) { return made.dtype().name; })
      .def_prop_ro("workspace_bytes", &Operator<Op>::workspace_bytes)
      .def("describe", &Operator<Op>::describe);
}

void add_collectives(nb::module_& m) {
  add_class<wk::AllReduce>(m, "AllReduce")
      .def(
          "__call__",
          [](const Operator<wk::AllReduce>& made, Handle out, Handle in, Handle stream) {
            const InOut a(made, out, in, 1, 1);
            made.run(stream, [&](auto& op, Stream queue) {
              return op(queue, a.out.data, a.in.data, a.count);
            });
          },
          "out"_a, "inp"_a, "stream"_a.none());
  add_class<wk::ReduceScatter>(m, "ReduceScatter")
      .def(
          "__call__",
          [](const Operator<wk::ReduceScatter>& made, Handle out, Handle in, Handle stream) {
            const InOut a(made, out, in, 1, made.team_size());
            made.run(stream, [&](auto& op, Stream queue) {
              return op(queue, a.out.data, a.in.data, a.count);
            });
          },
          "out"_a, "inp"_a, "stream"_a.none());
  add_class<wk::AllGather>(m, "AllGather")
      .def(
          "__call__",
          [](const Operator<wk::AllGather>& made, Handle out, Handle in, Handle stream) {
            const InOut a(made, out, in, made.team_size(), 1);
            made.run(stream, [&](auto& op, Stream queue) {
              return op(queue, a.out.data, a.in.data, a.in.bytes);
            });
          },
          "out"_a, "inp"_a, "stream"_a.none());
  add_class<wk::AllToAll>(m, "AllToAll")
      .def(
          "__call__",
          [](const Operator<wk::AllToAll>& made, Handle out, Handle in, Handle stream) {
            const InOut a(made, out, in, made.team_size(), made.team_size());
            const std::size_t block = a.count * made.dtype().bytes;
            made.run(stream, [&](auto& op, Stream queue) {
              return op(queue, a.out.data, a.in.data, block);
            });
          },
          "out"_a, "inp"_a, "stream"_a.none());
  add_class<wk::Broadcast>(m, "Broadcast")
      .def(
          "__call__",
          [](const Operator<wk::Broadcast>& made, Handle out, Handle in, int root, Handle stream) {
            const InOut a(made, out, in, 1, 1);
            made.run(stream, [&](auto& op, Stream queue) {
              return op(queue, a.out.data, a.in.data, a.in.bytes, root);
            });
          },
          "out"_a, "inp"_a, "root"_a, "stream"_a.none());
  const auto add_folder = [&](const char* name, const char* what, auto make) {
    m.def(
        name,
        [what, make](const JobPtr& job, std::int64_t max_count, Handle given, const std::string& op,
                     const TeamOf* team) {
          const DType& dtype = dtype_from(given);
          return make(job, problem_of(what, max_count, dtype, op), dtype, team);
        },
        "job"_a, "max_count"_a, "dtype"_a, "op"_a, "team"_a.none());
  };
  add_folder("all_reduce", "AllReduce", make_collective<wk::AllReduce>);
  add_folder("reduce_scatter", "ReduceScatter", make_collective<wk::ReduceScatter>);
  const auto add_mover = [&](const char* name, auto make) {
    m.def(
        name,
        [make](const JobPtr& job, std::int64_t max_count, Handle given, const TeamOf* team) {
          const DType& dtype = dtype_from(given);
          return make(job, problem_of_bytes(max_count, dtype), dtype, team);
        },
        "job"_a, "max_count"_a, "dtype"_a, "team"_a.none());
  };
  add_mover("all_gather", make_collective<wk::AllGather>);
  add_mover("all_to_all", make_collective<wk::AllToAll>);
  add_mover("broadcast", make_collective<wk::Broadcast>);
}

// --- AllReduce with residual and norm ------------------------------------------------------------

void add_norm(nb::module_& m) {
  using Norm = Operator<wk::AllReduceNorm>;
  add_class<wk::AllReduceNorm>(m, "AllReduceNorm")
      .def(
          "__call__",
          [](const Norm& made, Handle out, Handle residual_out, Handle in, Handle residual,
             Handle weight, Handle stream) {
            const DType& dtype = made.dtype();
            const View norm = made.array("weight", weight, dtype, Access::kRead);
            const View from = made.array("inp", in, dtype, Access::kRead);
            const View added = made.array("residual", residual, dtype, Access::kRead);
            const View to = made.array("out", out, dtype, Access::kWrite);
            const View sum = made.array("residual_out", residual_out, dtype, Access::kWrite);
            if (norm.count == 0 || from.count % norm.count != 0)
              raise_argument(fmt::format("argument inp has {} elements, which are no rows of {}",
                                         from.count, norm.count));
            const auto why = [] { return "as many as inp"; };
            check_count("residual", added, from.count, why);
            check_count("out", to, from.count, why);
            check_count("residual_out", sum, from.count, why);
            const std::size_t rows = from.count / norm.count;
            made.run(stream, [&](auto& op, Stream queue) {
              return op(queue, to.data, sum.data, from.data, added.data, norm.data, rows);
            });
          },
          "out"_a, "residual_out"_a, "inp"_a, "residual"_a, "weight"_a, "stream"_a.none());
  m.def(
      "all_reduce_norm",
      [](const JobPtr& job, std::int64_t max_rows, std::int64_t hidden, Handle given, float epsilon,
         const TeamOf* team) {
        const DType& dtype = dtype_from(given);
        const wk::AllReduceNormProblem problem{count_of("max_rows", max_rows),
                                               count_of("hidden", hidden),
                                               kernel_dtype("AllReduceNorm", dtype), epsilon};
        return std::make_shared<Norm>(job, size_for(job, team), dtype, [&](Runtime& runtime) {
          return wk::AllReduceNorm::create(runtime, team_for(runtime, team), problem);
        });
      },
      "job"_a, "max_rows"_a, "hidden"_a, "dtype"_a, "epsilon"_a, "team"_a.none());
}

// --- matrix products -----------------------------------------------------------------------------

// A product and its largest problem. c is bfloat16 where a and b are e4m3.
template <class Op>
struct Product {
  Operator<Op> made;
  wk::GemmProblem problem;
  const DType* result;
};

template <class Op, class Create>
std::shared_ptr<Product<Op>> make_product(const char* what, const JobPtr& job, std::int64_t m,
                                          std::int64_t n, std::int64_t k, Handle given,
                                          const TeamOf* team, Create create) {
  const DType& dtype = dtype_from(given);
  const wk::GemmProblem problem{.m = m, .n = n, .k = k, .dtype = kernel_dtype(what, dtype)};
  const bool is_scaled = problem.dtype == wk::DType::kFloat8E4m3;
  return std::make_shared<Product<Op>>(
      Product<Op>{Operator<Op>(job, size_for(job, team), dtype,
                               [&](Runtime& runtime) { return create(runtime, problem); }),
                  problem, is_scaled ? dtype_named("bfloat16") : &dtype});
}

// A matrix of `columns`, and of `rows` unless that is -1.
template <class Op>
View matrix_of(const Operator<Op>& made, const char* name, Handle given, const DType& dtype,
               Access access, std::int64_t rows, std::int64_t columns) {
  View view = made.array(name, given, dtype, access);
  const bool fits =
      view.shape.size() == 2 && view.shape[1] == columns && (rows < 0 || view.shape[0] == rows);
  if (!fits)
    raise_argument(fmt::format("argument {} has shape ({}); it has ({}, {})", name,
                               fmt::join(view.shape, ", "),
                               rows < 0 ? std::string("rows") : std::to_string(rows), columns));
  return view;
}

// The operands of a call, and c of `rows(m)`.
struct Operands {
  template <class Op, class Rows>
  Operands(const Product<Op>& p, Handle c_given, Handle a_given, Handle b_given, Rows rows)
      : a(matrix_of(p.made, "a", a_given, p.made.dtype(), Access::kRead, -1, p.problem.k)),
        b(matrix_of(p.made, "b", b_given, p.made.dtype(), Access::kRead, p.problem.n, p.problem.k)),
        m(a.shape[0]) {
    if (m > p.problem.m)
      raise_argument(fmt::format("argument a has {} rows; the operator was made for up to {}", m,
                                 p.problem.m));
    c = matrix_of(p.made, "c", c_given, *p.result, Access::kWrite, rows(m), p.problem.n);
  }
  View a, b, c;
  std::int64_t m;
};

template <class Op>
nb::class_<Product<Op>> add_product(nb::module_& m, const char* name) {
  return nb::class_<Product<Op>>(m, name)
      .def_prop_ro("dtype", [](const Product<Op>& p) { return p.made.dtype().name; })
      .def_prop_ro("workspace_bytes", [](const Product<Op>& p) { return p.made.workspace_bytes(); })
      .def("describe", [](const Product<Op>& p) { return p.made.describe(); });
}

const float* scales_of(const Operator<wk::Gemm>& made, const char* name, Handle given,
                       std::int64_t rows, std::int64_t blocks) {
  if (given.is_none()) raise_argument(fmt::format("argument {} is missing: e4m3 has scales", name));
  return reinterpret_cast<const float*>(
      matrix_of(made, name, given, *dtype_named("float32"), Access::kRead, rows, blocks).data);
}

// My rows of m.
std::int64_t rows_of(const Product<wk::GemmRs>& p, std::int64_t m) {
  return p.made.ask([m](const wk::GemmRs& op) { return op.rows(m); });
}

void add_products(nb::module_& m) {
  add_product<wk::Gemm>(m, "Gemm").def(
      "__call__",
      [](const Product<wk::Gemm>& p, Handle c, Handle a, Handle b, Handle scale_a, Handle scale_b,
         Handle stream) {
        const Operands x(p, c, a, b, [](std::int64_t rows) { return rows; });
        wk::GemmScales scales;
        const std::int64_t blocks = (p.problem.k + 127) / 128;
        if (p.problem.dtype == wk::DType::kFloat8E4m3)
          scales = {scales_of(p.made, "scale_a", scale_a, x.m, blocks),
                    scales_of(p.made, "scale_b", scale_b, (p.problem.n + 127) / 128, blocks)};
        else if (!scale_a.is_none() || !scale_b.is_none())
          raise_argument("arguments scale_a and scale_b are of float8_e4m3fn alone");
        p.made.run(stream, [&](auto& op, Stream queue) {
          return op(queue, x.c.data, x.a.data, x.b.data, x.m, scales);
        });
      },
      "c"_a, "a"_a, "b"_a, "scale_a"_a.none(), "scale_b"_a.none(), "stream"_a.none());
  m.def(
      "gemm",
      [](const JobPtr& job, std::int64_t rows, std::int64_t n, std::int64_t k, Handle dtype) {
        return make_product<wk::Gemm>(
            "Gemm", job, rows, n, k, dtype, nullptr,
            [](Runtime& rt, const wk::GemmProblem& p) { return wk::Gemm::create(rt, p); });
      },
      "job"_a, "m"_a, "n"_a, "k"_a, "dtype"_a);

  add_product<wk::AgGemm>(m, "AgGemm")
      .def(
          "__call__",
          [](const Product<wk::AgGemm>& p, Handle c, Handle a, Handle b, Handle gathered,
             Handle stream) {
            const auto all = [&](std::int64_t rows) { return rows * p.made.team_size(); };
            const Operands x(p, c, a, b, all);
            View rows;
            if (!gathered.is_none())
              rows = matrix_of(p.made, "gathered", gathered, p.made.dtype(), Access::kWrite,
                               all(x.m), p.problem.k);
            p.made.run(stream, [&](auto& op, Stream queue) {
              return op(queue, x.c.data, x.a.data, x.b.data, x.m, rows.data);
            });
          },
          "c"_a, "a"_a, "b"_a, "gathered"_a.none(), "stream"_a.none());
  add_product<wk::GemmRs>(m, "GemmRs")
      .def(
          "__call__",
          [](const Product<wk::GemmRs>& p, Handle c, Handle a, Handle b, Handle stream) {
            const Operands x(p, c, a, b, [&](std::int64_t rows) { return rows_of(p, rows); });
            p.made.run(stream, [&](auto& op, Stream queue) {
              return op(queue, x.c.data, x.a.data, x.b.data, x.m);
            });
          },
          "c"_a, "a"_a, "b"_a, "stream"_a.none())
      .def("rows", &rows_of, "m"_a);
  add_product<wk::GemmAr>(m, "GemmAr")
      .def(
          "__call__",
          [](const Product<wk::GemmAr>& p, Handle c, Handle a, Handle b, Handle stream) {
            const Operands x(p, c, a, b, [](std::int64_t rows) { return rows; });
            p.made.run(stream, [&](auto& op, Stream queue) {
              return op(queue, x.c.data, x.a.data, x.b.data, x.m);
            });
          },
          "c"_a, "a"_a, "b"_a, "stream"_a.none());
  const auto add_maker = [&]<class Op>(const char* name, const char* what, Op*) {
    m.def(
        name,
        [what](const JobPtr& job, std::int64_t rows, std::int64_t n, std::int64_t k, Handle dtype,
               const TeamOf* team) {
          return make_product<Op>(what, job, rows, n, k, dtype, team,
                                  [&](Runtime& rt, const wk::GemmProblem& p) {
                                    return Op::create(rt, team_for(rt, team), p);
                                  });
        },
        "job"_a, "m"_a, "n"_a, "k"_a, "dtype"_a, "team"_a.none());
  };
  add_maker("ag_gemm", "AgGemm", static_cast<wk::AgGemm*>(nullptr));
  add_maker("gemm_rs", "GemmRs", static_cast<wk::GemmRs*>(nullptr));
  add_maker("gemm_ar", "GemmAr", static_cast<wk::GemmAr*>(nullptr));
}

}  // namespace

void add_operators(nb::module_& m) {
  add_collectives(m);
  add_norm(m);
  add_products(m);
}

}  // namespace weft::python

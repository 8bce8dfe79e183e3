// The extension weft._weft: classes and functions as python/weft calls them. Their
// contracts stand there, where people look for them.
#include <utility>

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <weft/version.hpp>

#include "python/src/errors.hpp"
#include "python/src/job.hpp"
#include "python/src/operations.hpp"
#include "python/src/operators.hpp"
#include "python/src/pool.hpp"
#include "python/src/tensor.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace weft::python {
namespace {

using Settings = std::vector<std::pair<std::string, std::string>>;

Options options_of(const Settings& settings) {
  Options options = value_of(Options::from_environment());
  for (const auto& [name, value] : settings) check(options.set(name, value));
  return options;
}

JobPtr launched(const Settings& settings) {
  const CallerName name("weft.init");
  const Options options = options_of(settings);
  return value_of(unlocked([&] { return Job::start(Runtime::create(options)); }));
}

JobPtr met(const UniqueId& id, int pe, int npes, const Settings& settings) {
  const CallerName name("weft.init");
  const Options options = options_of(settings);
  return value_of(unlocked([&] { return Job::start(Runtime::create(id, pe, npes, options), id); }));
}

UniqueId unique_id(const Settings& settings) {
  const Options options = options_of(settings);
  return value_of(unlocked([&] { return UniqueId::create(options); }));
}

nb::tuple shape_of(const Tensor& tensor) {
  nb::list lengths;
  for (const std::int64_t length : tensor.shape()) lengths.append(length);
  return nb::tuple(lengths);
}

nb::object item_of(const Tensor& tensor, nb::object index) {
  nb::slice part;
  if (nb::try_cast(index, part)) return nb::cast(tensor.slice(part));
  return nb::cast(tensor.item(nb::cast<std::int64_t>(index)));
}

nb::module_ arrays() { return nb::module_::import_("weft._arrays"); }

void add_tensor(nb::module_& m) {
  nb::class_<Tensor>(m, "Tensor")
      .def_prop_ro("shape", &shape_of,
                   nb::for_getter(nb::sig("def shape(self) -> tuple[int, ...]")))
      .def_prop_ro("dtype", [](const Tensor& t) { return t.dtype().name; })
      .def_prop_ro("device", &Tensor::device)
      .def_prop_ro("nbytes", &Tensor::bytes)
      .def_prop_ro("data_ptr",
                   [](const Tensor& t) { return reinterpret_cast<std::uintptr_t>(t.data()); })
      .def(
          "reshape", [](const Tensor& t, Shape shape) { return t.reshaped(std::move(shape)); },
          "shape"_a)
      .def("bits", &Tensor::bits)
      .def(
          "numpy", [](nb::handle_t<Tensor> t) { return arrays().attr("to_numpy")(t); },
          nb::sig("def numpy(self) -> typing.Any"))
      .def(
          "torch", [](nb::handle_t<Tensor> t) { return arrays().attr("to_torch")(t); },
          nb::sig("def torch(self) -> typing.Any"))
      .def("peer", &Tensor::peer, "pe"_a, nb::sig("def peer(self, pe: int) -> typing.Any"))
      .def("__len__",
           [](const Tensor& t) {
             if (t.shape().empty())
               throw nb::type_error("a tensor without dimensions has no length");
             return t.shape()[0];
           })
      .def("__getitem__", &item_of, "index"_a,
           nb::sig("def __getitem__(self, index: int | slice, /) -> Tensor"))
      .def("__repr__", &Tensor::text)
      .def(
          "__dlpack__",
          [](const Tensor& t, nb::kwargs wanted) {
            if (t.block()->gpu() >= 0 && wanted.contains("stream") && !wanted["stream"].is_none())
              arrays().attr("order_behind")(wanted["stream"], t.block()->gpu());
            return t.exported().attr("__dlpack__")(**wanted);
          },
          nb::sig("def __dlpack__(self, *, stream: int | None = None, "
                  "max_version: tuple[int, int] | None = None, "
                  "dl_device: tuple[int, int] | None = None, copy: bool | None = None) -> "
                  "typing.Any"))
      .def_prop_ro("__cuda_array_interface__", &Tensor::cuda_array_interface,
                   nb::for_getter(nb::sig("def __cuda_array_interface__(self) -> dict[str, "
                                          "typing.Any]")))
      .def("__dlpack_device__",
           [](const Tensor& t) { return std::pair(t.device_type(), t.device_id()); });
}

void add_job(nb::module_& m) {
  const auto on = "on"_a.none();
  nb::class_<Job>(m, "Job")
      .def_prop_ro("pe", [](const JobPtr& job) { return value_of(job->use())->pe(); })
      .def_prop_ro("npes", [](const JobPtr& job) { return value_of(job->use())->npes(); })
      .def_prop_ro("gpu", &Job::gpu_number)
      .def_prop_ro("context_pointer", &context_pointer)
      .def_prop_ro("device_context", &device_context)
      .def_prop_ro("has_ended", &Job::has_ended)
      .def("finalize", [](const JobPtr& job) { check(unlocked([&] { return job->finalize(); })); })
      .def(
          "abort",
          [](const JobPtr& job, int code, const std::string& why) {
            unlocked([&] { job->abort(code, why); });
          },
          "code"_a, "why"_a)
      .def("describe", [](const JobPtr& job) { return value_of(job->use())->describe(); })
      .def("health", [](const JobPtr& job) { check(value_of(job->use())->health()); })
      .def("tensor", &make_tensor, "shape"_a, "dtype"_a, "zeroed"_a, "device"_a)
      .def("adopt", &adopt_array, "tensor"_a)
      .def("part_of", &part_of, "arena"_a, "tensor"_a)
      .def("free", &free_tensor, "tensor"_a)
      .def(
          "put",
          [](const JobPtr& job, nb::handle dst, nb::handle src, int pe, nb::handle word,
             std::uint64_t value, std::string op, nb::handle on) {
            put(job, dst, src, pe, {word, value, std::move(op)}, on);
          },
          "dst"_a, "src"_a, "pe"_a, "signal"_a.none(), "value"_a, "op"_a, on)
      .def("get", &get, "dst"_a, "src"_a, "pe"_a, on)
      .def(
          "signal",
          [](const JobPtr& job, nb::handle word, std::uint64_t value, int pe, std::string op,
             nb::handle on) {
            signal(job, {word, value, std::move(op)}, pe, on);
          },
          "word"_a, "value"_a, "pe"_a, "op"_a, on)
      .def("wait", &wait, "word"_a, "cmp"_a, "value"_a, on)
      .def("test", &test, "word"_a, "cmp"_a, "value"_a)
      .def("atomic", &atomic, "op"_a, "word"_a, "value"_a.none(), "pe"_a, "compare"_a.none(),
           nb::sig("def atomic(self, op: str, word: object, value: int | None, pe: int, "
                   "compare: int | None) -> int | None"))
      .def("fence", &fence)
      .def("quiet", &quiet, on)
      .def("world", &world)
      .def("node", &node)
      .def("team", &team_of, "ranks"_a, "parent"_a.none())
      .def("team_of_members", &team_of_members, "pes"_a)
      .def("barrier", &barrier, "team"_a.none(), on)
      .def("sync", &sync, "team"_a.none(), on)
      .def("broadcast", &broadcast, "dst"_a, "src"_a, "root"_a, "team"_a.none(), on)
      .def("fcollect", &fcollect, "dst"_a, "src"_a, "team"_a.none(), on)
      .def("alltoall", &alltoall, "dst"_a, "src"_a, "team"_a.none(), on)
      .def("reduce", &reduce, "dst"_a, "src"_a, "op"_a, "team"_a.none(), on)
      .def("reducescatter", &reducescatter, "dst"_a, "src"_a, "op"_a, "team"_a.none(), on);
}

void add_team(nb::module_& m) {
  nb::class_<TeamOf>(m, "Team")
      .def_prop_ro("rank", [](const TeamOf& t) { return t.team.rank; })
      .def_prop_ro("size", [](const TeamOf& t) { return t.team.size; })
      .def_prop_ro("device_address", &device_address_of)
      .def_prop_ro("pes", &pes_of, nb::for_getter(nb::sig("def pes(self) -> tuple[int, ...]")))
      .def(
          "pe_of", [](const TeamOf& t, int rank) { return t.team.pe_of(rank); }, "rank"_a)
      .def(
          "rank_of", [](const TeamOf& t, int pe) { return t.team.rank_of(pe); }, "pe"_a)
      .def("destroy", [](TeamOf& t) { destroy(t); });
}

}  // namespace
}  // namespace weft::python

NB_MODULE(_weft, m) {
  using namespace weft::python;
  nb::set_leak_warnings(false);  // arrays of other libraries may outlive the interpreter's modules
  m.attr("version") = WEFT_VERSION;
  nb::class_<weft::UniqueId>(m, "UniqueId")
      .def_static(
          "parse", [](const std::string& text) { return value_of(weft::UniqueId::parse(text)); },
          "text"_a)
      .def_prop_ro("text", &weft::UniqueId::text);
  add_pool(m);
  m.def("is_gpu_in_use", &Gpu::is_in_use);
  m.def("load_gpu_driver", [] { check(Gpu::load_driver()); });
  m.def("unique_id", &unique_id, "settings"_a);
  m.def("launched", &launched, "settings"_a);
  m.def("met", &met, "id"_a, "pe"_a, "npes"_a, "settings"_a);
  add_team(m);
  add_tensor(m);
  add_job(m);
  add_operators(m);
}

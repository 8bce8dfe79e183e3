// Operations of a job as Python calls them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <nanobind/nanobind.h>

#include <weft/team.hpp>

#include "python/src/call.hpp"
#include "python/src/job.hpp"
#include "python/src/tensor.hpp"

namespace weft::python {

// device: "cpu", or "cuda", the job's GPU.
Tensor make_tensor(const JobPtr& job, Shape shape, Handle dtype, bool zeroed,
                   const std::string& device);
// An array of another library becomes symmetric where it is.
Tensor adopt_array(const JobPtr& job, Handle array);
// A torch.Tensor of a pool over `arena`, as a tensor, if it lies alike on all PEs.
Tensor part_of(const JobPtr& job, const Tensor& arena, Handle array);
void free_tensor(const JobPtr& job, const Tensor& tensor);

// on, here and below: None, the calling thread; else the stream that the call is queued on, as
// stream_of() takes it.

// The signal of a put, and how it changes; none if `signal` is None.
struct SignalOf {
  Handle signal;
  std::uint64_t value;
  std::string op;
};
void put(const JobPtr& job, Handle dst, Handle src, int pe, const SignalOf& signal, Handle on);
void get(const JobPtr& job, Handle dst, Handle src, int pe, Handle on);
void signal(const JobPtr& job, const SignalOf& signal, int pe, Handle on);
void wait(const JobPtr& job, Handle word, const std::string& cmp, nanobind::int_ value, Handle on);
bool test(const JobPtr& job, Handle word, const std::string& cmp, nanobind::int_ value);
nanobind::object atomic(const JobPtr& job, const std::string& op, Handle word, Handle value, int pe,
                        Handle compare);
void fence(const JobPtr& job);
void quiet(const JobPtr& job, Handle on);

// The context for kernels that cannot take a struct.
std::uintptr_t context_pointer(const JobPtr& job);
// Its bytes, for the variable of a module (weft/device/bitcode.h).
nanobind::bytes device_context(const JobPtr& job);

TeamOf world(const JobPtr& job);
TeamOf node(const JobPtr& job);
TeamOf team_of(const JobPtr& job, const std::vector<int>& ranks, const TeamOf* parent);
// A team of these PEs, which alone call.
TeamOf team_of_members(const JobPtr& job, const std::vector<int>& pes);
nanobind::tuple pes_of(const TeamOf& team);
// Where kernels of the job read it, as long as the object lives.
std::uintptr_t device_address_of(TeamOf& team);
void destroy(TeamOf& team);

// The team is the world where it is null.
void barrier(const JobPtr& job, const TeamOf* team, Handle on);
void sync(const JobPtr& job, const TeamOf* team, Handle on);
void broadcast(const JobPtr& job, Handle dst, Handle src, int root, const TeamOf* team, Handle on);
void fcollect(const JobPtr& job, Handle dst, Handle src, const TeamOf* team, Handle on);
void alltoall(const JobPtr& job, Handle dst, Handle src, const TeamOf* team, Handle on);
void reduce(const JobPtr& job, Handle dst, Handle src, const std::string& op, const TeamOf* team,
            Handle on);
void reducescatter(const JobPtr& job, Handle dst, Handle src, const std::string& op,
                   const TeamOf* team, Handle on);

}  // namespace weft::python

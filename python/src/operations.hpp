// Operations of a job as Python calls them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <nanobind/nanobind.h>

#include <weft/team.hpp>

#include "python/src/job.hpp"
#include "python/src/tensor.hpp"

namespace weft::python {

// A team of a job, which ends with it or by weft.Team.destroy().
struct TeamOf {
  std::shared_ptr<Job> job;
  Team team;
};

using JobPtr = std::shared_ptr<Job>;
using Handle = nanobind::handle;

Tensor make_tensor(const JobPtr& job, Shape shape, Handle dtype, bool zeroed);
void free_tensor(const JobPtr& job, const Tensor& tensor);

// The signal of a put, and how it changes; none if `signal` is None.
struct SignalOf {
  Handle signal;
  std::uint64_t value;
  std::string op;
};
void put(const JobPtr& job, Handle dst, Handle src, int pe, const SignalOf& signal);
void get(const JobPtr& job, Handle dst, Handle src, int pe);
void signal(const JobPtr& job, const SignalOf& signal, int pe);
void wait(const JobPtr& job, Handle word, const std::string& cmp, nanobind::int_ value);
bool test(const JobPtr& job, Handle word, const std::string& cmp, nanobind::int_ value);
nanobind::object atomic(const JobPtr& job, const std::string& op, Handle word, Handle value, int pe,
                        Handle compare);
void fence(const JobPtr& job);
void quiet(const JobPtr& job);

TeamOf world(const JobPtr& job);
TeamOf node(const JobPtr& job);
TeamOf team_of(const JobPtr& job, const std::vector<int>& ranks, const TeamOf* parent);
void destroy(TeamOf& team);

// The team is the world where it is null.
void barrier(const JobPtr& job, const TeamOf* team);
void sync(const JobPtr& job, const TeamOf* team);
void broadcast(const JobPtr& job, Handle dst, Handle src, int root, const TeamOf* team);
void fcollect(const JobPtr& job, Handle dst, Handle src, const TeamOf* team);
void alltoall(const JobPtr& job, Handle dst, Handle src, const TeamOf* team);
void reduce(const JobPtr& job, Handle dst, Handle src, const std::string& op, const TeamOf* team);
void reducescatter(const JobPtr& job, Handle dst, Handle src, const std::string& op,
                   const TeamOf* team);

}  // namespace weft::python

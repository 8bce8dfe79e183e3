#include "host/transport/transport.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "host/transport/fault/fault.hpp"
#include "host/transport/transports.hpp"
#include "src/base/status.hpp"

namespace weft {

namespace {

constexpr TransportRow kRows[] = {
#define WEFT_TRANSPORT(name, serves, carries, help) \
  {#name, help, make_##name, HostMemory::serves, carries},
#include "host/transport/transports.def.hpp"
};

const TransportRow* find_row(std::string_view name) {
  const auto* const row = std::find_if(std::begin(kRows), std::end(kRows),
                                       [&](const TransportRow& each) { return name == each.name; });
  return row == std::end(kRows) ? nullptr : row;
}

std::vector<std::string> split_names(std::string_view list) {
  std::vector<std::string> names(1);
  for (const char c : list) {
    if (c == ',')
      names.emplace_back();
    else if (c != ' ')
      names.back() += c;
  }
  return names;
}

// An option that lists transports.
struct List {
  const char* option;
  const std::string& names;
};

List list_of(const Options& options, bool is_gpu) {
  return is_gpu ? List{"WEFT_GPU_TRANSPORTS", options.gpu_transports}
                : List{"WEFT_TRANSPORTS", options.transports};
}

Status bad_list(const List& list, std::string_view why) {
  std::string known;
  for (const TransportRow& row : kRows) known += fmt::format("\n  {:<9} {}", row.name, row.help);
  return Status::error(Code::kInvalidArgument,
                       fmt::format("{}={}: {}; name some of these, separated by commas, the "
                                   "preferred first:{}",
                                   list.option, list.names, why, known));
}

// WEFT_IB_ATOMICS=nic wants a transport that does so.
Status check_atomics(const TransportEnv& env,
                     const std::vector<std::unique_ptr<Transport>>& transports) {
  const bool is_wanted = env.options->ib_atomics == "nic" && !env.is_gpu;
  if (!is_wanted || std::any_of(transports.begin(), transports.end(),
                                [](const auto& each) { return each->caps().owns_atomics; }))
    return Status::ok();
  return Status::error(Code::kInvalidArgument,
                       fmt::format("WEFT_IB_ATOMICS=nic wants the transport ib, which is not in "
                                   "WEFT_TRANSPORTS={}; add it, or set WEFT_IB_ATOMICS=owner",
                                   env.options->transports));
}

}  // namespace

std::span<const TransportRow> transport_registry() { return kRows; }

Result<std::vector<const TransportRow*>> transport_rows(const Options& options, bool is_gpu) {
  const List list = list_of(options, is_gpu);
  std::vector<const TransportRow*> rows;
  for (const std::string& name : split_names(list.names)) {
    const TransportRow* const row = find_row(name);
    if (row == nullptr) return bad_list(list, fmt::format("transport '{}' does not exist", name));
    if (std::find(rows.begin(), rows.end(), row) != rows.end())
      return bad_list(list, fmt::format("'{}' is there twice", name));
    rows.push_back(row);
  }
  return rows;
}

Result<std::vector<std::unique_ptr<Transport>>> make_transports(const TransportEnv& env) {
  const Options& options = *env.options;
  ASSIGN_OR_RETURN(const FaultSpec spec, parse_fault_spec(options.fault));
  ASSIGN_OR_RETURN(const auto rows, transport_rows(options, env.is_gpu));
  TransportEnv all = env;
  all.host_is_served = std::any_of(rows.begin(), rows.end(), [&](const TransportRow* row) {
    return row->serves == (env.is_gpu ? HostMemory::kOfGpus : HostMemory::kOfHosts);
  });
  std::vector<std::unique_ptr<Transport>> transports;
  for (const TransportRow* row : rows) {
    std::unique_ptr<Transport> transport = row->make(all);
    if (!options.fault.empty()) transport = make_fault(std::move(transport), spec, env);
    transports.push_back(std::move(transport));
  }
  RETURN_IF_ERROR(check_atomics(env, transports));
  return transports;
}

}  // namespace weft

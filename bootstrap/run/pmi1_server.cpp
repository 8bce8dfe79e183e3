#include "bootstrap/run/pmi1_server.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace weft::run {
namespace {

constexpr const char* kStore = "weft-run";

pmi::Message refusal(std::string command, std::string why) {
  return {std::move(command), {{"rc", "-1"}, {"msg", std::move(why)}}};
}

// Words of a line end at spaces, so reasons are written without.
pmi::Message success(std::string command) {
  return {std::move(command), {{"rc", "0"}, {"msg", "success"}}};
}

// An answer that does not change while the job runs.
pmi::Message fact(const std::string& command, std::size_t npes) {
  if (command == "get_maxes") {
    return {"maxes",
            {{"rc", "0"},
             {"kvsname_max", std::to_string(Pmi1Server::kMostKey)},
             {"keylen_max", std::to_string(Pmi1Server::kMostKey)},
             {"vallen_max", std::to_string(Pmi1Server::kMostValue)}}};
  }
  if (command == "get_my_kvsname") return {"my_kvsname", {{"rc", "0"}, {"kvsname", kStore}}};
  if (command == "get_appnum") return {"appnum", {{"rc", "0"}, {"appnum", "0"}}};
  if (command == "get_universe_size") {
    return {"universe_size", {{"rc", "0"}, {"size", std::to_string(npes)}}};
  }
  return refusal(command + "_result", fmt::format("weft-run_knows_no_{}", command));
}

}  // namespace

Pmi1Server::Pmi1Server(int npes) : seats_(static_cast<std::size_t>(npes)) {
  // All on this host.
  store_["PMI_process_mapping"] = fmt::format("(vector,(0,1,{}))", npes);
}

std::vector<Pmi1Server::Answer> Pmi1Server::handle(int pe, const pmi::Message& message) {
  if (message.command == "barrier_in") return barrier(pe);
  if (message.command == "abort") {
    const int code = message.number("exitcode") & 0xff;
    if (!abort_code_) abort_code_ = std::max(code, 1);
    return {};
  }
  return {{pe, answer_to(seats_[static_cast<std::size_t>(pe)], message)}};
}

pmi::Message Pmi1Server::answer_to(Seat& seat, const pmi::Message& message) {
  const std::string& command = message.command;
  if (command == "init") {
    seat.inside = message.text("pmi_version") == "1";
    return {"response_to_init",
            {{"rc", seat.inside ? "0" : "-1"}, {"pmi_version", "1"}, {"pmi_subversion", "1"}}};
  }
  if (command == "finalize") {
    seat.inside = false;
    return {"finalize_ack", {{"rc", "0"}}};
  }
  if (command == "put") return put(message);
  if (command == "get") return get(message);
  return fact(command, seats_.size());
}

pmi::Message Pmi1Server::put(const pmi::Message& message) {
  const std::string key = message.text("key"), value = message.text("value");
  if (message.text("kvsname") != kStore || key.empty())
    return refusal("put_result", "no_such_store");
  if (key.size() >= kMostKey || value.size() >= kMostValue)
    return refusal("put_result", "too_long");
  const bool fresh = store_.emplace(key, value).second;
  return fresh ? success("put_result") : refusal("put_result", "duplicate_key");
}

pmi::Message Pmi1Server::get(const pmi::Message& message) const {
  const auto found = store_.find(message.text("key"));
  if (message.text("kvsname") != kStore || found == store_.end()) {
    return refusal("get_result", "no_such_key");
  }
  pmi::Message answer = success("get_result");
  answer.fields.emplace_back("value", found->second);
  return answer;
}

// Coming twice counts once.
std::vector<Pmi1Server::Answer> Pmi1Server::barrier(int pe) {
  Seat& seat = seats_[static_cast<std::size_t>(pe)];
  if (!std::exchange(seat.at_barrier, true)) ++at_barrier_;
  if (at_barrier_ < static_cast<int>(seats_.size())) return {};
  std::vector<Answer> answers;
  at_barrier_ = 0;
  for (std::size_t i = 0; i < seats_.size(); ++i) {
    seats_[i].at_barrier = false;
    answers.push_back({static_cast<int>(i), {"barrier_out", {{"rc", "0"}}}});
  }
  return answers;
}

}  // namespace weft::run

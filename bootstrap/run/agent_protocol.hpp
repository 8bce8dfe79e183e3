// Messages between weft-run and its agent on another host, as frames over the remote shell's
// standard streams. Pure, as the bootstrap's protocol is.
//
//   weft-run: Order, Signal, Beat → agent         agent: Started, Output, Ended, Refused → weft-run
//
// The order goes through the shell's standard input, where other users do not see the job's secret
// as they would among a command's arguments.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include <weft/result.hpp>

#include "bootstrap/run/exit_status.hpp"
#include "src/net/frame.hpp"

namespace weft::run {

enum class Remote : std::uint32_t {
  kOrder = 64,
  kSignal = 65,
  kBeat = 66,
  kStarted = 80,
  kOutput = 81,
  kEnded = 82,
  kRefused = 83,
};

inline constexpr std::uint64_t kMostRemoteBytes = std::uint64_t{16} << 20;
// Without a beat for so long the connection is cut.
inline constexpr double kBeat_s = 5;
inline constexpr double kSilence_s = 60;

struct Order {
  std::string version;
  std::string unique_id;
  int first = 0, count = 0, npes = 0;
  int bind = 0;
  double grace_s = 0;
  std::string directory;
  std::vector<std::pair<std::string, std::string>> environment;
  std::vector<std::string> command;
};

struct Started {
  int pe = 0;
  int pid = 0;
};

struct Output {
  int pe = 0;
  int fd = 1;
  std::string_view bytes;  // inside the frame
};

struct Ended {
  int pe = 0;
  Ending ending;
};

struct Refused {
  int exit_status = 1;
  std::string why;
};

net::Bytes encode(const Order& order);
net::Bytes encode(const Started& started);
net::Bytes encode(const Output& output);
net::Bytes encode(const Ended& ended);
net::Bytes encode(const Refused& refused);
net::Bytes encode_signal(int signal);

Result<Order> decode_order(std::span<const std::byte> payload);
Result<Started> decode_started(std::span<const std::byte> payload);
Result<Output> decode_output(std::span<const std::byte> payload);
Result<Ended> decode_ended(std::span<const std::byte> payload);
Result<Refused> decode_refused(std::span<const std::byte> payload);
Result<int> decode_signal(std::span<const std::byte> payload);

}  // namespace weft::run

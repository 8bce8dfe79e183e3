// The cost of the tcp bootstrap with many PEs:  bootstrap_scale [PES] [BYTES]
//
// Start: a real server, and as many PEs as light-weight clients over loopback, one connection each.
// Calls: the PEs' sides of a barrier and an allgather in one thread, their frames handed over in
// memory. Prints times and bytes, and fails if a call takes other bytes than its formula.
#include <sys/resource.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <weft/version.hpp>

#include "bootstrap/tcp/exchange.hpp"
#include "bootstrap/tcp/seal.hpp"
#include "bootstrap/tcp/server.hpp"
#include "src/base/status.hpp"

namespace weft::tcp {
namespace {

constexpr int kSkipped = 77;

class Stopwatch {
 public:
  double ms() const {
    return std::chrono::duration<double, std::milli>(Clock::now() - start_).count();
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

// A PE of which there is only the connection.
class Client {
 public:
  static Result<Client> call(const IdText& id) {
    ASSIGN_OR_RETURN(UniqueFd socket, net::connect_to(id.address, Deadline(60)));
    return Client(std::move(socket));
  }

  Status greet(const IdText& id) {
    ASSIGN_OR_RETURN(hello_.nonce, random_bits());
    hello_.version = WEFT_VERSION;
    return send(Message::kHello, seal(id.secret, kHelloSeal, {hello_.nonce, {}}, encode(hello_)));
  }
  Status join(const IdText& id, int pe) {
    ASSIGN_OR_RETURN(const net::Frame challenge, receive(Message::kChallenge));
    ASSIGN_OR_RETURN(const Nonce nonce, decode_challenge(challenge.payload));
    const Join join{pe, id.npes, {1, "node0000"}, {{"127.0.0.1", 4711}, nonce}};
    return send(Message::kJoin, seal(id.secret, kJoinSeal, {hello_.nonce, nonce}, encode(join)));
  }
  Status start() {
    RETURN_IF_ERROR(receive(Message::kAccepted).status());
    return receive(Message::kStart).status();
  }
  Status leave() { return send(Message::kLeave, encode_leave(0)); }
  Status left() { return receive(Message::kLeft).status(); }

  std::size_t bytes() const { return bytes_; }

 private:
  explicit Client(UniqueFd socket) : channel_(std::move(socket), "the server", kMostMessageBytes) {}

  Status send(Message message, std::span<const std::byte> payload) {
    auto frame = std::make_shared<const net::Bytes>(
        net::encode_frame(static_cast<std::uint32_t>(message), payload));
    bytes_ += frame->size();
    channel_.queue(std::move(frame));
    return channel_.flush();
  }
  Result<net::Frame> receive(Message wanted) {
    ASSIGN_OR_RETURN(net::Frame frame, channel_.receive(Deadline(60), "an answer"));
    bytes_ += net::kFrameHeader + frame.payload.size();
    if (frame.type == static_cast<std::uint32_t>(wanted)) return frame;
    return Status::error(Code::kIo, fmt::format("message {} came", frame.type));
  }

  net::Channel channel_;
  Hello hello_;
  std::size_t bytes_ = 0;
};

Status run_start(int npes) {
  ASSIGN_OR_RETURN(const auto server, Server::start(npes, Options()));
  ASSIGN_OR_RETURN(const IdText id, parse_id_text(server->id_text()));
  std::vector<Client> clients;
  const Stopwatch watch;
  for (int pe = 0; pe < npes; ++pe) {
    ASSIGN_OR_RETURN(Client client, Client::call(id));
    RETURN_IF_ERROR(client.greet(id));
    clients.push_back(std::move(client));
  }
  for (int pe = 0; pe < npes; ++pe) {
    RETURN_IF_ERROR(clients[static_cast<std::size_t>(pe)].join(id, pe));
  }
  std::size_t bytes = 0;
  for (Client& client : clients) {
    RETURN_IF_ERROR(client.start());
    bytes += client.bytes();
  }
  fmt::print("{:>9}  {:>6} PEs  {:>9.1f} ms  {:>13} bytes  {:>8} per PE, over 1 connection\n",
             "start", npes, watch.ms(), bytes, bytes / static_cast<std::size_t>(npes));
  for (Client& client : clients) RETURN_IF_ERROR(client.leave());
  for (Client& client : clients) RETURN_IF_ERROR(client.left());
  return Status::ok();
}

std::size_t deliver(Exchange& from, Exchange& to) {
  const net::Bytes frame =
      net::encode_frame(static_cast<std::uint32_t>(Message::kBlocks), from.send());
  net::FrameDecoder decoder(kMostGatheredBytes);
  decoder.feed(frame).ignore();
  return to.take(decoder.next()->payload).is_ok() ? frame.size() : 0;
}

// The PE's number, as far as there is room; not by memcpy, to which an empty vector's null is
// wrong.
Blob block_of(int pe, std::size_t each) {
  Blob block(each);
  std::copy_n(reinterpret_cast<const std::byte*>(&pe), std::min(each, sizeof pe), block.begin());
  return block;
}

Status run_call(int npes, Call call, std::size_t each) {
  const auto n = static_cast<std::size_t>(npes);
  const auto rounds = static_cast<std::size_t>(rounds_of(npes));
  std::vector<Exchange> pes;
  const Stopwatch watch;
  for (int pe = 0; pe < npes; ++pe) {
    pes.emplace_back(pe, npes, call, block_of(pe, each));
  }
  std::size_t bytes = 0;
  for (int round = 0; round < rounds_of(npes); ++round) {
    for (int pe = 0; pe < npes; ++pe) {
      bytes += deliver(pes[static_cast<std::size_t>(pe)],
                       pes[static_cast<std::size_t>(behind(pe, npes, round))]);
    }
  }
  const double ms = watch.ms();
  const bool gathers = call.call == Rendezvous::Call::kAllgather;
  const std::size_t blocks = gathers ? 8 + each : 0;
  const std::size_t expected = n * (rounds * (net::kFrameHeader + 9) + (n - 1) * blocks);
  fmt::print("{:>9}  {:>6} PEs  {:>9.1f} ms  {:>13} bytes  {:>8} per PE, in {} rounds; holds {}\n",
             to_string(call.call), npes, ms, bytes, bytes / n, rounds, n * blocks);
  for (const Exchange& pe : pes) {
    if (pe.complete() && bytes == expected) continue;
    return Status::error(Code::kInternal, fmt::format("{} bytes instead of {}", bytes, expected));
  }
  if (!gathers) return Status::ok();
  const auto last = pes.back().gathered();
  for (int pe = 0; pe < npes; ++pe) {
    if (last[static_cast<std::size_t>(pe)] == block_of(pe, each)) continue;
    return Status::error(Code::kInternal, fmt::format("the block of PE {} is another's", pe));
  }
  return Status::ok();
}

// Both ends of every connection are here. False: the system does not give so many files.
bool allow_files(int npes) {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  const rlim_t needed = 2 * static_cast<rlim_t>(npes) + 1024;
  if (limit.rlim_cur >= needed) return true;
  limit.rlim_cur = std::min(needed, limit.rlim_max);
  return limit.rlim_cur >= needed && ::setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

int main(int argc, char** argv) {
  int npes = 4096;
  std::size_t each = 64;
  if (argc > 1) std::from_chars(argv[1], argv[1] + std::strlen(argv[1]), npes);
  if (argc > 2) std::from_chars(argv[2], argv[2] + std::strlen(argv[2]), each);
  if (npes < 1 || npes > 65536) {
    fmt::print(stderr, "usage: bootstrap_scale [PES in 1..65536] [BYTES per PE]\n");
    return 2;
  }
  const bool files = allow_files(npes);
  if (!files) fmt::print("start skipped: {} connections need more open files; ulimit -n\n", npes);
  Status status = files ? run_start(npes) : Status::ok();
  if (status.is_ok()) status = run_call(npes, {Rendezvous::Call::kBarrier, 1}, 0);
  if (status.is_ok()) status = run_call(npes, {Rendezvous::Call::kAllgather, 2}, each);
  if (status.is_ok()) return files ? 0 : kSkipped;
  fmt::print(stderr, "{}\n", status.to_string());
  return 1;
}

}  // namespace
}  // namespace weft::tcp

int main(int argc, char** argv) { return weft::tcp::main(argc, argv); }

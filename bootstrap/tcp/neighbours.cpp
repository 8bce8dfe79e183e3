#include "bootstrap/tcp/neighbours.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "src/base/log.hpp"
#include "src/base/status.hpp"

namespace weft::tcp {
namespace {

// A PE whose connection was not taken, or was dropped, comes again, at most so rarely.
constexpr double kLongestPause_s = 0.2;

std::shared_ptr<const net::Bytes> framed(Message message, std::span<const std::byte> payload) {
  return std::make_shared<const net::Bytes>(
      net::encode_frame(static_cast<std::uint32_t>(message), payload));
}

// kBusy: it has not come yet.
Result<net::Frame> next_frame(net::Channel& channel, Message wanted) {
  for (;;) {
    if (auto frame = channel.next()) {
      if (frame->type == static_cast<std::uint32_t>(wanted)) return std::move(*frame);
      return Status::error(
          Code::kIo, fmt::format("{} sent message {} out of turn", channel.peer(), frame->type));
    }
    RETURN_IF_ERROR(channel.fill());
  }
}

}  // namespace

Status Neighbours::open(const Secret& secret, int pe, int npes, const std::string& host) {
  secret_ = secret;
  pe_ = pe;
  npes_ = npes;
  out_.resize(static_cast<std::size_t>(rounds_of(npes)));
  in_.resize(out_.size());
  if (npes == 1) return Status::ok();
  ASSIGN_OR_RETURN(listener_, net::listen_at(host, 0));
  ASSIGN_OR_RETURN(contact_.address, net::local_address(listener_.get()));
  ASSIGN_OR_RETURN(contact_.nonce, random_bits());
  return Status::ok();
}

Status Neighbours::advance(Exchange& exchange) {
  admit();
  Status sent = send(exchange);
  while (sent.is_ok() || sent.is(Code::kBusy)) {
    if (exchange.received() == exchange.rounds()) break;
    const Status received = receive(exchange);
    if (received.is(Code::kBusy)) break;
    RETURN_IF_ERROR(received);
    sent = send(exchange);
  }
  if (!sent.is_ok() && !sent.is(Code::kBusy)) return sent;
  RETURN_IF_ERROR(flush());
  return exchange.complete() ? Status::ok() : Status::busy();
}

Status Neighbours::send(Exchange& exchange) {
  while (exchange.can_send()) {
    const int round = exchange.sent();
    RETURN_IF_ERROR(await_welcome(round));
    out_[static_cast<std::size_t>(round)].channel->queue(framed(Message::kBlocks, exchange.send()));
  }
  return Status::ok();
}

Status Neighbours::receive(Exchange& exchange) {
  auto& channel = in_[static_cast<std::size_t>(exchange.received())];
  if (!channel) return Status::busy();
  ASSIGN_OR_RETURN(const net::Frame frame, next_frame(*channel, Message::kBlocks));
  return exchange.take(frame.payload);
}

Status Neighbours::flush() {
  Status status;
  for (Outgoing& out : out_) {
    if (!out.welcome) continue;
    const Status flushed = out.channel->flush();
    if (!flushed.is_ok() && !flushed.is(Code::kBusy)) return flushed;
    if (status.is_ok()) status = flushed;
  }
  return status;
}

Status Neighbours::call_up(int round) {
  Outgoing& out = out_[static_cast<std::size_t>(round)];
  const Contact& there = behind_[static_cast<std::size_t>(round)];
  const net::Address address = net::with_scope_of(there.address, contact_.address);
  ASSIGN_OR_RETURN(UniqueFd socket, net::begin_connect(address));
  const std::uint64_t now = now_ns();
  if (out.began_ns == 0) out.began_ns = now;
  out.again = Deadline(net::attempt_seconds(static_cast<double>(now - out.began_ns) * 1e-9));
  out.channel.emplace(
      std::move(socket),
      fmt::format("PE {} at {}", behind(pe_, npes_, round), net::to_string(address)),
      kMostMessageBytes);
  out.nonces.callee = there.nonce;
  ASSIGN_OR_RETURN(out.nonces.caller, random_bits());
  out.channel->queue(framed(Message::kHandshake, seal(secret_, kHandshakeSeal, out.nonces,
                                                      encode(Handshake{pe_, out.nonces.caller}))));
  return Status::ok();
}

Status Neighbours::await_welcome(int round) {
  Outgoing& out = out_[static_cast<std::size_t>(round)];
  if (out.welcome) return Status::ok();
  // Not taken yet: the listener's queue may be full, and the kernel asks again late.
  const bool due = out.again.expired() && !(out.channel && out.channel->flushed());
  if (due || (!out.channel && out.again.is_never())) RETURN_IF_ERROR(call_up(round));
  if (!out.channel) return Status::busy();
  Status status = out.channel->flush();
  if (status.is_ok()) {
    auto frame = next_frame(*out.channel, Message::kWelcome);
    status = frame.status();
    if (frame) status = open_seal(secret_, kWelcomeSeal, out.nonces, frame->payload).status();
  }
  if (status.is(Code::kPeerLost)) {
    // It was dropped for newer ones. If the PE is gone its port is closed, which the next try says.
    out.channel.reset();
    out.again = Deadline(out.pause_s);
    out.pause_s = std::min(2 * out.pause_s, kLongestPause_s);
    return Status::busy();
  }
  out.welcome = status.is_ok();
  return status;
}

void Neighbours::admit() {
  if (!listener_) return;
  const auto settled = [this](net::Channel& stranger) { return settle(stranger); };
  std::erase_if(strangers_, settled);
  for (int i = 0; i < kMostAccepts; ++i) {
    auto accepted = net::accept_one(listener_.get());
    if (!accepted) break;  // without files nobody comes in; who waits in vain says so
    // The oldest goes, which has had its time: a PE sends its handshake as soon as it connects.
    if (strangers_.size() >= kMostStrangers) strangers_.pop_front();
    strangers_.emplace_back(std::move(accepted->socket), std::move(accepted->peer),
                            kMostHelloBytes);
    if (settle(strangers_.back())) strangers_.pop_back();
  }
  if (!std::ranges::all_of(in_, [](const auto& channel) { return channel.has_value(); })) return;
  listener_.reset();
  strangers_.clear();
}

// Takes one piece of what has come. True: it is a stranger no more, or never will be anything else.
bool Neighbours::settle(net::Channel& stranger) {
  Status status = stranger.fill();
  if (const auto frame = stranger.next()) {
    status = frame->type == static_cast<std::uint32_t>(Message::kHandshake)
                 ? greet(stranger, *frame)
                 : Status::error(Code::kIo, fmt::format("it began with message {}", frame->type));
    if (status.is_ok()) return true;
  } else if (status.is_ok() || status.is(Code::kBusy)) {
    return false;
  }
  if (const auto more = turned_away_.pass()) {
    LOG(kInfo, "bootstrap", "PE {} turned {} away at {}: {}{}", pe_, stranger.peer(),
        net::to_string(contact_.address), status.text(), *more);
  }
  return true;
}

Status Neighbours::greet(net::Channel& stranger, const net::Frame& frame) {
  // The caller's nonce is needed to open the seal around it.
  const auto sealed = std::span(frame.payload);
  ASSIGN_OR_RETURN(
      const Handshake handshake,
      decode_handshake(sealed.first(sealed.size() - std::min(sealed.size(), sizeof(Secret)))));
  const Nonces nonces{handshake.nonce, contact_.nonce};
  RETURN_IF_ERROR(open_seal(secret_, kHandshakeSeal, nonces, sealed).status());
  for (int round = 0; round < rounds_of(npes_); ++round) {
    auto& channel = in_[static_cast<std::size_t>(round)];
    if (handshake.pe != ahead(pe_, npes_, round) || channel) continue;
    stranger.queue(framed(Message::kWelcome, seal(secret_, kWelcomeSeal, nonces, {})));
    RETURN_IF_ERROR(stranger.flush());
    channel = std::move(stranger);
    channel->set_most(kMostGatheredBytes);
    return Status::ok();
  }
  return Status::error(Code::kInvalidArgument,
                       fmt::format("PE {} is no neighbour, or has come already", handshake.pe));
}

void Neighbours::watch(const Exchange& exchange, std::vector<pollfd>& polled) const {
  if (listener_) polled.push_back({listener_.get(), POLLIN, 0});
  for (const net::Channel& stranger : strangers_) polled.push_back({stranger.fd(), POLLIN, 0});
  for (const Outgoing& out : out_) {
    if (!out.channel) continue;
    const int events = (out.channel->flushed() ? 0 : POLLOUT) | (out.welcome ? 0 : POLLIN);
    if (events != 0) polled.push_back({out.channel->fd(), static_cast<short>(events), 0});
  }
  if (exchange.received() == exchange.rounds()) return;
  const auto& channel = in_[static_cast<std::size_t>(exchange.received())];
  if (channel) polled.push_back({channel->fd(), POLLIN, 0});
}

int Neighbours::retry_ms() const {
  int first = -1;
  for (const Outgoing& out : out_) {
    if (out.welcome || (out.channel && out.channel->flushed())) continue;
    const int left = out.again.remaining_ms();
    if (left >= 0 && (first < 0 || left < first)) first = left;
  }
  return first;
}

}  // namespace weft::tcp

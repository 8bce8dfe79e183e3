// A small client of libfakeverbs: what its own tests need of queue pairs.
#pragma once

#include <infiniband/verbs.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/fake_verbs/fake_verbs.hpp"

namespace weft {

template <auto destroy>
struct DestroyedBy {
  template <class Object>
  void operator()(Object* object) const {
    EXPECT_EQ(destroy(object), 0);
  }
};
using VerbsContext = std::unique_ptr<ibv_context, DestroyedBy<ibv_close_device>>;
using VerbsPd = std::unique_ptr<ibv_pd, DestroyedBy<ibv_dealloc_pd>>;
using VerbsChannel = std::unique_ptr<ibv_comp_channel, DestroyedBy<ibv_destroy_comp_channel>>;
using VerbsCq = std::unique_ptr<ibv_cq, DestroyedBy<ibv_destroy_cq>>;
using VerbsSrq = std::unique_ptr<ibv_srq, DestroyedBy<ibv_destroy_srq>>;
using VerbsMr = std::unique_ptr<ibv_mr, DestroyedBy<ibv_dereg_mr>>;
using VerbsAh = std::unique_ptr<ibv_ah, DestroyedBy<ibv_destroy_ah>>;
using VerbsQp = std::unique_ptr<ibv_qp, DestroyedBy<ibv_destroy_qp>>;

inline constexpr unsigned kAllAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                                       IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
inline constexpr std::uint32_t kQkey = 0x1234;

// An open device with one of each.
struct VerbsCard {
  explicit VerbsCard(int index) : context(open(index)) {}
  static VerbsContext open(int index) {
    ibv_device** const list = ibv_get_device_list(nullptr);
    VerbsContext opened(ibv_open_device(list[index]));
    ibv_free_device_list(list);
    return opened;
  }
  VerbsContext context;
  VerbsChannel channel{ibv_create_comp_channel(context.get())};
  VerbsPd pd{ibv_alloc_pd(context.get())};
  VerbsCq cq{ibv_create_cq(context.get(), 1024, this, channel.get(), 0)};
};

// Registered words.
struct VerbsWords {
  VerbsWords(const VerbsCard& card, std::size_t count, unsigned access = kAllAccess)
      : words(count), mr(ibv_reg_mr(card.pd.get(), words.data(), 8 * count, access)) {}
  std::uint64_t address(std::size_t word = 0) const {
    return reinterpret_cast<std::uintptr_t>(&words[word]);
  }
  ibv_sge sge(std::size_t word, std::size_t count) const {
    return {address(word), static_cast<std::uint32_t>(8 * count), mr->lkey};
  }
  std::vector<std::uint64_t> words;
  VerbsMr mr;
};

inline VerbsQp make_qp(const VerbsCard& card, ibv_qp_type type, ibv_srq* srq = nullptr,
                       std::uint32_t depth = 64) {
  ibv_qp_init_attr init{};
  init.send_cq = init.recv_cq = card.cq.get();
  init.srq = srq;
  init.cap = {depth, srq != nullptr ? 0 : depth, 4, 4, 64};
  init.qp_type = type;
  return VerbsQp(ibv_create_qp(card.pd.get(), &init));
}

inline int to_init(ibv_qp* qp) {
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_INIT;
  attr.port_num = 1;
  attr.qp_access_flags = kAllAccess;
  attr.qkey = kQkey;
  const int own = qp->qp_type == IBV_QPT_RC ? IBV_QP_ACCESS_FLAGS : IBV_QP_QKEY;
  return ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | own);
}

inline ibv_ah_attr address_of(ibv_context* context, int gid_index = 3) {
  ibv_port_attr port{};
  EXPECT_EQ(ibv_query_port(context, 1, &port), 0);
  ibv_ah_attr address{};
  address.port_num = 1;
  address.dlid = port.lid;
  if (port.link_layer == IBV_LINK_LAYER_INFINIBAND) return address;
  address.is_global = 1;
  address.grh.sgid_index = static_cast<std::uint8_t>(gid_index);
  EXPECT_EQ(ibv_query_gid(context, 1, gid_index, &address.grh.dgid), 0);
  return address;
}

inline int to_rtr(ibv_qp* qp, const ibv_qp* peer, const ibv_ah_attr& address, std::uint32_t psn) {
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_RTR;
  attr.ah_attr = address;
  attr.path_mtu = IBV_MTU_4096;
  attr.dest_qp_num = peer->qp_num;
  attr.rq_psn = psn;
  attr.max_dest_rd_atomic = 16;
  return ibv_modify_qp(qp, &attr,
                       IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                           IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
}

inline int to_rts(ibv_qp* qp, std::uint32_t psn) {
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_RTS;
  attr.sq_psn = psn;
  attr.max_rd_atomic = 16;
  attr.timeout = 14;
  attr.retry_cnt = attr.rnr_retry = 7;
  return ibv_modify_qp(qp, &attr,
                       IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                           IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}

// Both ends, of which each sends from its own number on.
inline void join(ibv_qp* a, ibv_qp* b) {
  for (ibv_qp* const qp : {a, b}) ASSERT_EQ(to_init(qp), 0);
  ASSERT_EQ(to_rtr(a, b, address_of(b->context), b->qp_num), 0);
  ASSERT_EQ(to_rtr(b, a, address_of(a->context), a->qp_num), 0);
  for (ibv_qp* const qp : {a, b}) ASSERT_EQ(to_rts(qp, qp->qp_num), 0);
}

inline void ready_ud(ibv_qp* qp) {
  ASSERT_EQ(to_init(qp), 0);
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_RTR;
  ASSERT_EQ(ibv_modify_qp(qp, &attr, IBV_QP_STATE), 0);
  attr.qp_state = IBV_QPS_RTS;
  ASSERT_EQ(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN), 0);
}

// One request; lists itself.
struct VerbsSend : ibv_send_wr {
  VerbsSend(std::uint64_t id, ibv_wr_opcode code, std::vector<ibv_sge> list)
      : ibv_send_wr{}, sges(std::move(list)) {
    wr_id = id;
    opcode = code;
    num_sge = static_cast<int>(sges.size());
    send_flags = IBV_SEND_SIGNALED;
  }
  VerbsSend& at(const VerbsWords& remote, std::size_t word) {
    wr.rdma.remote_addr = remote.address(word);
    wr.rdma.rkey = remote.mr->rkey;
    return *this;
  }
  VerbsSend& flags(unsigned given) {
    send_flags = given;
    return *this;
  }
  int post(ibv_qp* qp) {
    sg_list = sges.data();
    ibv_send_wr* bad = nullptr;
    return ibv_post_send(qp, this, &bad);
  }
  std::vector<ibv_sge> sges;
};

inline VerbsSend atomic_add(std::uint64_t id, ibv_sge old, const VerbsWords& remote,
                            std::uint64_t value) {
  VerbsSend add(id, IBV_WR_ATOMIC_FETCH_AND_ADD, {old});
  add.wr.atomic = {remote.address(), value, 0, remote.mr->rkey};
  return add;
}

inline int post_receive(ibv_qp* qp, std::uint64_t id, ibv_sge sge) {
  ibv_recv_wr wr{id, nullptr, &sge, 1};
  ibv_recv_wr* bad = nullptr;
  return ibv_post_recv(qp, &wr, &bad);
}

// The next completion; none for a long time: a failure.
inline ibv_wc wait(const VerbsCard& card) {
  ibv_wc wc{};
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (ibv_poll_cq(card.cq.get(), 1, &wc) == 0) {
    if (std::chrono::steady_clock::now() > end) {
      ADD_FAILURE() << "no completion";
      break;
    }
    std::this_thread::yield();
  }
  return wc;
}

inline FakeVerbsLive fake_verbs_now() {
  FakeVerbsLive out{};
  fake_verbs_live(&out);
  return out;
}

// Two devices, of which nothing is left at the end.
class FakeVerbsTest : public ::testing::Test {
 protected:
  explicit FakeVerbsTest(const char* link = "eth", const char* lost = "0") {
    ::setenv("FAKE_VERBS_DEVICES", "2", 1);
    ::setenv("FAKE_VERBS_LINK", link, 1);
    ::setenv("FAKE_VERBS_DROP_UD", lost, 1);
  }
  ~FakeVerbsTest() override {
    for (const char* const name : {"FAKE_VERBS_DEVICES", "FAKE_VERBS_LINK", "FAKE_VERBS_DROP_UD"})
      ::unsetenv(name);
  }
  void TearDown() override {
    for (const int device : {0, 1}) fake_verbs_mend(device);
    EXPECT_EQ(fake_verbs_now(), FakeVerbsLive{});
  }
};

// Two cards with memory, and a connection between them.
struct VerbsPair {
  VerbsPair() { join(qp[0].get(), qp[1].get()); }
  VerbsCard card[2] = {VerbsCard(0), VerbsCard(1)};
  VerbsWords memory[2] = {{card[0], 64}, {card[1], 64}};
  VerbsWords constant{card[1], 1, IBV_ACCESS_REMOTE_READ};
  VerbsQp qp[2] = {make_qp(card[0], IBV_QPT_RC), make_qp(card[1], IBV_QPT_RC)};

  VerbsSend write(std::uint64_t id, std::size_t word, std::size_t count) const {
    return VerbsSend(id, IBV_WR_RDMA_WRITE, {memory[0].sge(word, count)}).at(memory[1], word);
  }
  VerbsSend send(std::uint64_t id) const {
    return VerbsSend(id, IBV_WR_SEND, {memory[0].sge(0, 1)});
  }
};

}  // namespace weft

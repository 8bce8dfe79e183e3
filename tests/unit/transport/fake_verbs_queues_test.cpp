// Queues, datagrams and events of the NICs that other tests have, and what tests do to these.
#include <fcntl.h>
#include <poll.h>

#include <cerrno>
#include <string_view>

#include "tests/support/fake_verbs/client.hpp"

namespace weft {
namespace {

bool is_readable(int fd) {
  pollfd readable{fd, POLLIN, 0};
  return ::poll(&readable, 1, 0) == 1;
}

TEST_F(FakeVerbsTest, ASendWaitsForAReceiveAndHoldsUpWhatIsBehind) {
  VerbsPair pair;
  pair.memory[0].words[0] = 5;
  pair.memory[0].words[9] = 6;
  VerbsSend send = pair.send(1);
  send.opcode = IBV_WR_SEND_WITH_IMM;
  send.imm_data = 42;
  ASSERT_EQ(send.post(pair.qp[0].get()), 0);
  ASSERT_EQ(pair.write(2, 9, 1).post(pair.qp[0].get()), 0);
  VerbsSend other(3, IBV_WR_RDMA_WRITE, {});
  ASSERT_EQ(other.post(pair.qp[1].get()), 0);
  EXPECT_EQ(wait(pair.card[1]).wr_id, 3u);  // the wire does not wait with them
  ibv_wc wc;
  EXPECT_EQ(ibv_poll_cq(pair.card[0].cq.get(), 1, &wc), 0);
  ASSERT_EQ(post_receive(pair.qp[1].get(), 4, pair.memory[1].sge(0, 4)), 0);
  wc = wait(pair.card[1]);
  EXPECT_EQ(wc.wr_id, 4u);
  EXPECT_EQ(wc.opcode, IBV_WC_RECV);
  EXPECT_EQ(wc.wc_flags, static_cast<unsigned>(IBV_WC_WITH_IMM));
  EXPECT_EQ(wc.imm_data, 42u);
  EXPECT_EQ(wc.byte_len, 8u);
  EXPECT_EQ(wc.qp_num, pair.qp[1]->qp_num);
  EXPECT_EQ(pair.memory[1].words[0], 5u);
  EXPECT_EQ(wait(pair.card[0]).wr_id, 1u);
  EXPECT_EQ(wait(pair.card[0]).wr_id, 2u);
  EXPECT_EQ(pair.memory[1].words[9], 6u);
}

TEST_F(FakeVerbsTest, AReceiveThatIsTooSmallFailsAtBothEnds) {
  VerbsPair pair;
  ASSERT_EQ(
      post_receive(pair.qp[1].get(), 4, {pair.memory[1].address(), 7, pair.memory[1].mr->lkey}), 0);
  ASSERT_EQ(pair.send(1).post(pair.qp[0].get()), 0);
  EXPECT_EQ(wait(pair.card[0]).status, IBV_WC_REM_INV_REQ_ERR);
  EXPECT_EQ(wait(pair.card[1]).status, IBV_WC_LOC_LEN_ERR);
  ASSERT_EQ(pair.write(2, 0, 1).post(pair.qp[1].get()), 0);
  EXPECT_EQ(wait(pair.card[1]).status, IBV_WC_WR_FLUSH_ERR);
}

TEST_F(FakeVerbsTest, SlotsAreFreeOnceALaterCompletionIsPolled) {
  VerbsPair pair;
  VerbsQp qp[2] = {make_qp(pair.card[0], IBV_QPT_RC, nullptr, 4),
                   make_qp(pair.card[1], IBV_QPT_RC, nullptr, 1)};
  join(qp[0].get(), qp[1].get());
  ASSERT_EQ(ibv_req_notify_cq(pair.card[0].cq.get(), 0), 0);
  VerbsSend quiet = pair.write(1, 0, 1);
  for (int i = 0; i < 3; ++i) ASSERT_EQ(quiet.flags(0).post(qp[0].get()), 0);
  ASSERT_EQ(pair.write(2, 0, 1).post(qp[0].get()), 0);
  while (!is_readable(pair.card[0].channel->fd)) std::this_thread::yield();  // all are done
  ibv_send_wr* bad = nullptr;
  quiet.sg_list = quiet.sges.data();
  EXPECT_EQ(ibv_post_send(qp[0].get(), &quiet, &bad), ENOMEM);
  EXPECT_EQ(bad, &quiet);
  EXPECT_EQ(wait(pair.card[0]).wr_id, 2u);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(quiet.post(qp[0].get()), 0);
  EXPECT_EQ(quiet.post(qp[0].get()), ENOMEM);
  EXPECT_EQ(post_receive(qp[1].get(), 1, pair.memory[1].sge(0, 1)), 0);
  EXPECT_EQ(post_receive(qp[1].get(), 2, pair.memory[1].sge(0, 1)), ENOMEM);
}

TEST_F(FakeVerbsTest, BothEndsMustMeanEachOther) {
  VerbsCard card[2] = {VerbsCard(0), VerbsCard(1)};
  enum class Wrong { kNothing, kPsn, kDevice, kVersion };
  for (const Wrong wrong : {Wrong::kNothing, Wrong::kPsn, Wrong::kDevice, Wrong::kVersion}) {
    VerbsQp a = make_qp(card[0], IBV_QPT_RC), b = make_qp(card[1], IBV_QPT_RC);
    ASSERT_EQ(to_init(a.get()), 0);
    ASSERT_EQ(to_init(b.get()), 0);
    ibv_context* const meant = card[wrong == Wrong::kDevice ? 0 : 1].context.get();
    const ibv_ah_attr address = address_of(meant, wrong == Wrong::kVersion ? 2 : 3);
    ASSERT_EQ(to_rtr(a.get(), b.get(), address, 7), 0);
    ASSERT_EQ(to_rtr(b.get(), a.get(), address_of(card[0].context.get()), 8), 0);
    ASSERT_EQ(to_rts(a.get(), wrong == Wrong::kPsn ? 7 : 8), 0);
    ASSERT_EQ(VerbsSend(1, IBV_WR_RDMA_WRITE, {}).post(a.get()), 0);
    EXPECT_EQ(wait(card[0]).status,
              wrong == Wrong::kNothing ? IBV_WC_SUCCESS : IBV_WC_RETRY_EXC_ERR);
  }
}

TEST_F(FakeVerbsTest, StatesNeedWhatTheyNeed) {
  VerbsCard card(0);
  VerbsQp qp = make_qp(card, IBV_QPT_RC);
  EXPECT_EQ(to_rts(qp.get(), 0), EINVAL);
  EXPECT_EQ(VerbsSend(1, IBV_WR_RDMA_WRITE, {}).post(qp.get()), EINVAL);
  EXPECT_EQ(post_receive(qp.get(), 1, {}), EINVAL);
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_INIT;
  attr.port_num = 1;
  EXPECT_EQ(ibv_modify_qp(qp.get(), &attr, IBV_QP_STATE | IBV_QP_PORT), EINVAL);
  ASSERT_EQ(to_init(qp.get()), 0);
  ibv_ah_attr address = address_of(card.context.get());
  address.is_global = 0;
  EXPECT_EQ(to_rtr(qp.get(), qp.get(), address, 0), EINVAL);
  address.is_global = 1;
  ASSERT_EQ(to_rtr(qp.get(), qp.get(), address, 1), 0);
  ASSERT_EQ(to_rts(qp.get(), 1), 0);  // connected to itself
  ASSERT_EQ(VerbsSend(1, IBV_WR_RDMA_WRITE, {}).post(qp.get()), 0);
  EXPECT_EQ(wait(card).status, IBV_WC_SUCCESS);
}

VerbsSend datagram(std::uint64_t id, const VerbsWords& words, ibv_ah* ah, const ibv_qp* to) {
  VerbsSend send(id, IBV_WR_SEND_WITH_IMM, {words.sge(0, 1)});
  send.imm_data = static_cast<std::uint32_t>(id);
  send.wr.ud = {ah, to->qp_num, kQkey};
  return send;
}

class LossyTest : public FakeVerbsTest {
 protected:
  LossyTest() : FakeVerbsTest("eth", "3") {}
};

TEST_F(LossyTest, DatagramsArriveOrNot) {
  VerbsCard card(0), other(1);
  VerbsWords words(card, 1), buffers(other, 64);
  VerbsQp from = make_qp(card, IBV_QPT_UD), to = make_qp(other, IBV_QPT_UD);
  ready_ud(from.get());
  ready_ud(to.get());
  ibv_ah_attr address = address_of(other.context.get(), 1);
  VerbsAh ah(ibv_create_ah(card.pd.get(), &address));
  words.words[0] = 99;
  for (std::uint64_t id = 0; id < 6; ++id)
    ASSERT_EQ(post_receive(to.get(), id, buffers.sge(6 * id, 6)), 0);
  for (std::uint64_t id = 1; id <= 8; ++id) {
    VerbsSend send = datagram(id, words, ah.get(), to.get());
    if (id == 2) send.wr.ud.remote_qkey ^= 1;
    if (id == 4) send.wr.ud.remote_qpn ^= 1;
    ASSERT_EQ(send.post(from.get()), 0);
    EXPECT_EQ(wait(card).status, IBV_WC_SUCCESS);
  }
  for (const std::uint64_t id : {1u, 5u, 7u, 8u}) {
    const ibv_wc wc = wait(other);
    EXPECT_EQ(wc.imm_data, id);
    EXPECT_EQ(wc.src_qp, from->qp_num);
    EXPECT_EQ(wc.wc_flags, static_cast<unsigned>(IBV_WC_WITH_IMM | IBV_WC_GRH));
    EXPECT_EQ(wc.byte_len, 48u);
    EXPECT_EQ(buffers.words[6 * wc.wr_id + 5], 99u);
    EXPECT_EQ(std::memcmp(&buffers.words[6 * wc.wr_id + 3], address.grh.dgid.raw, 16), 0);
  }
}

TEST_F(FakeVerbsTest, AChannelRingsOnceForEachRequest) {
  VerbsPair pair;
  const int fd = pair.card[0].channel->fd;
  ibv_cq* cq = pair.card[0].cq.get();
  ibv_cq* rung = nullptr;
  void* context = nullptr;
  const auto write = [&] {
    ASSERT_EQ(pair.write(1, 0, 1).post(pair.qp[0].get()), 0);
    wait(pair.card[0]);
  };
  write();
  EXPECT_FALSE(is_readable(fd));
  ASSERT_EQ(ibv_req_notify_cq(cq, 0), 0);
  std::thread blocked([&] {
    ASSERT_EQ(ibv_get_cq_event(pair.card[0].channel.get(), &rung, &context), 0);
    ibv_ack_cq_events(rung, 1);
  });
  write();
  blocked.join();
  EXPECT_EQ(rung, cq);
  EXPECT_EQ(context, &pair.card[0]);
  write();
  EXPECT_FALSE(is_readable(fd));
  ASSERT_EQ(::fcntl(fd, F_SETFL, O_NONBLOCK), 0);
  EXPECT_EQ(ibv_get_cq_event(pair.card[0].channel.get(), &rung, &context), -1);
  EXPECT_EQ(errno, EAGAIN);
  ASSERT_EQ(ibv_req_notify_cq(cq, 1), 0);  // which a write is not
  write();
  EXPECT_FALSE(is_readable(fd));
  ASSERT_EQ(ibv_req_notify_cq(cq, 0), 0);
  write();
  EXPECT_TRUE(is_readable(fd));  // never read: goes with the queue
}

TEST_F(FakeVerbsTest, APortThatIsCutSaysSoUntilItIsMended) {
  VerbsPair pair;
  ibv_context* const context = pair.card[1].context.get();
  ibv_async_event event;
  ibv_port_attr port;
  fake_verbs_cut(1);
  ASSERT_TRUE(is_readable(context->async_fd));
  EXPECT_FALSE(is_readable(pair.card[0].context->async_fd));
  ASSERT_EQ(ibv_get_async_event(context, &event), 0);
  EXPECT_EQ(event.event_type, IBV_EVENT_PORT_ERR);
  EXPECT_EQ(event.element.port_num, 1);
  ibv_ack_async_event(&event);
  ASSERT_EQ(ibv_query_port(context, 1, &port), 0);
  EXPECT_EQ(port.state, IBV_PORT_DOWN);
  ASSERT_EQ(pair.send(1).post(pair.qp[0].get()), 0);
  EXPECT_EQ(wait(pair.card[0]).status, IBV_WC_RETRY_EXC_ERR);
  fake_verbs_mend(1);
  ASSERT_EQ(ibv_get_async_event(context, &event), 0);
  EXPECT_EQ(event.event_type, IBV_EVENT_PORT_ACTIVE);
  ASSERT_EQ(ibv_query_port(context, 1, &port), 0);
  EXPECT_EQ(port.state, IBV_PORT_ACTIVE);
}

// The sender hears the same whether its last request took effect or not; the other end knows.
TEST_F(FakeVerbsTest, APortIsLostAtTheRequestThatIsNamed) {
  for (const bool takes_effect : {false, true}) {
    VerbsPair pair;
    pair.memory[0].words[0] = 1;
    pair.memory[0].words[1] = 2;
    const std::size_t before = fake_verbs_carried(0);
    fake_verbs_cut_after(0, 2, takes_effect);
    ASSERT_EQ(pair.write(1, 0, 1).post(pair.qp[0].get()), 0);
    ASSERT_EQ(pair.write(2, 1, 1).post(pair.qp[0].get()), 0);
    EXPECT_EQ(wait(pair.card[0]).status, IBV_WC_SUCCESS);
    EXPECT_EQ(wait(pair.card[0]).status, IBV_WC_RETRY_EXC_ERR);
    EXPECT_EQ(fake_verbs_carried(0), before + 2);
    ibv_qp_attr attributes{};
    ibv_qp_init_attr init{};
    ASSERT_EQ(ibv_query_qp(pair.qp[1].get(), &attributes, IBV_QP_RQ_PSN, &init), 0);
    const std::uint32_t taken = takes_effect ? 2 : 1;
    EXPECT_EQ(attributes.rq_psn, (pair.qp[0]->qp_num + taken) & 0xffffff);
    EXPECT_EQ(pair.memory[1].words[1], takes_effect ? 2u : 0u);
    fake_verbs_mend(0);
  }
}

// One more, again and again, by the device of card 1, until `add` of somebody else has got lost
// among them. False: nothing has.
template <class Add>
bool loses(const VerbsPair& pair, std::uint64_t* word, Add add) {
  std::uint64_t sum = *word;
  for (int round = 0; round < 20000; ++round) {
    EXPECT_EQ(atomic_add(1, pair.memory[0].sge(1, 1), pair.memory[1], 1).post(pair.qp[0].get()), 0);
    sum += 1 + add();
    wait(pair.card[0]);
    if (__atomic_load_n(word, __ATOMIC_ACQUIRE) != sum) return true;
  }
  return false;
}

TEST_F(FakeVerbsTest, AtomicsAreAtomicWithThoseOfTheirDeviceAlone) {
  VerbsPair pair;
  auto* const word = pair.memory[1].words.data();
  const auto by_processor = [&] {
    std::this_thread::yield();
    __atomic_fetch_add(word, 1, __ATOMIC_ACQ_REL);
    return 1;
  };
  EXPECT_TRUE(loses(pair, word, by_processor));

  *word = 0;
  VerbsQp more[2] = {make_qp(pair.card[0], IBV_QPT_RC), make_qp(pair.card[1], IBV_QPT_RC)};
  join(more[0].get(), more[1].get());
  const auto by_device = [&] {
    EXPECT_EQ(atomic_add(2, pair.memory[0].sge(2, 1), pair.memory[1], 1).post(more[0].get()), 0);
    wait(pair.card[0]);
    return 1;
  };
  EXPECT_FALSE(loses(pair, word, by_device));
}

TEST_F(FakeVerbsTest, WhatIsInUseStays) {
  VerbsPair pair;
  EXPECT_EQ(ibv_close_device(pair.card[0].context.get()), EBUSY);
  EXPECT_EQ(ibv_dealloc_pd(pair.card[0].pd.get()), EBUSY);
  EXPECT_EQ(ibv_destroy_cq(pair.card[0].cq.get()), EBUSY);
  EXPECT_EQ(ibv_destroy_comp_channel(pair.card[0].channel.get()), EBUSY);
  EXPECT_EQ(fake_verbs_now(), (FakeVerbsLive{2, 2, 3, 2, 2, 0, 2, 0}));
}

TEST_F(FakeVerbsTest, ACallFailsWhereItIsTold) {
  VerbsPair pair;
  fake_verbs_fail("ibv_alloc_pd", 2, ENOMEM);
  VerbsPd first(ibv_alloc_pd(pair.card[0].context.get()));
  errno = 0;
  EXPECT_EQ(ibv_alloc_pd(pair.card[0].context.get()), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  VerbsPd third(ibv_alloc_pd(pair.card[0].context.get()));
  EXPECT_NE(third, nullptr);
  fake_verbs_fail("ibv_post_send", 1, EIO);
  EXPECT_EQ(pair.send(1).post(pair.qp[0].get()), EIO);
  fake_verbs_fail("ibv_poll_cq", 1, EIO);
  ibv_wc wc;
  EXPECT_LT(ibv_poll_cq(pair.card[0].cq.get(), 1, &wc), 0);
  EXPECT_EQ(ibv_poll_cq(pair.card[0].cq.get(), 1, &wc), 0);
}

void overflow() {
  VerbsPair pair;
  VerbsCq small(ibv_create_cq(pair.card[0].context.get(), 1, nullptr, nullptr, 0));
  std::swap(pair.card[0].cq, small);
  VerbsQp qp[2] = {make_qp(pair.card[0], IBV_QPT_RC), make_qp(pair.card[1], IBV_QPT_RC)};
  join(qp[0].get(), qp[1].get());
  for (int i = 0; i < 2; ++i) pair.write(1, 0, 1).post(qp[0].get());
  std::this_thread::sleep_for(std::chrono::seconds(30));
}

TEST_F(FakeVerbsTest, AnOverflowIsTheClientsBug) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(overflow(), "a completion queue of 1 overflows");
}

TEST_F(FakeVerbsTest, AnEthernetPortHasAddressesOfBothVersions) {
  VerbsCard card(1);
  EXPECT_EQ(std::string_view(ibv_get_device_name(card.context->device)), "fake1");
  ibv_gid_entry gids[8];
  ASSERT_EQ(ibv_query_gid_table(card.context.get(), gids, 8, 0), 4);
  const std::uint8_t expected[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 1, 1};
  EXPECT_EQ(std::memcmp(gids[3].gid.raw, expected, 16), 0);
  EXPECT_EQ(gids[2].gid_type, static_cast<std::uint32_t>(IBV_GID_TYPE_ROCE_V1));
  EXPECT_EQ(gids[3].gid_type, static_cast<std::uint32_t>(IBV_GID_TYPE_ROCE_V2));
  EXPECT_EQ(gids[0].gid.raw[0], 0xfe);
}

class InfiniBandTest : public FakeVerbsTest {
 protected:
  InfiniBandTest() : FakeVerbsTest("ib") {}
};

TEST_F(InfiniBandTest, GoesByLids) {
  VerbsPair pair;
  EXPECT_EQ(address_of(pair.card[1].context.get()).dlid, 2);
  ASSERT_EQ(pair.write(1, 0, 1).post(pair.qp[0].get()), 0);
  EXPECT_EQ(wait(pair.card[0]).status, IBV_WC_SUCCESS);
  VerbsWords buffer(pair.card[1], 6);
  VerbsQp from = make_qp(pair.card[0], IBV_QPT_UD), to = make_qp(pair.card[1], IBV_QPT_UD);
  ready_ud(from.get());
  ready_ud(to.get());
  ibv_ah_attr address = address_of(pair.card[1].context.get());
  VerbsAh ah(ibv_create_ah(pair.card[0].pd.get(), &address));
  ASSERT_EQ(post_receive(to.get(), 4, buffer.sge(0, 6)), 0);
  ASSERT_EQ(datagram(1, pair.memory[0], ah.get(), to.get()).post(from.get()), 0);
  const ibv_wc wc = wait(pair.card[1]);
  EXPECT_EQ(wc.wc_flags, static_cast<unsigned>(IBV_WC_WITH_IMM));
  EXPECT_EQ(wc.slid, 1);
  EXPECT_EQ(wait(pair.card[0]).status, IBV_WC_SUCCESS);
}

}  // namespace
}  // namespace weft

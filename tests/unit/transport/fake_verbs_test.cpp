// Connections between the NICs that other tests have: what those rely on.
#include <algorithm>
#include <cerrno>
#include <functional>
#include <string>

#include "tests/support/fake_verbs/client.hpp"

namespace weft {
namespace {

TEST_F(FakeVerbsTest, AFlagArrivesAfterTheDataBeforeIt) {
  VerbsPair pair;
  std::uint64_t& flag = pair.memory[1].words[63];
  std::thread reader([&] {
    for (std::uint64_t round = 1; round <= 100; ++round) {
      while (__atomic_load_n(&flag, __ATOMIC_ACQUIRE) < 2 * round - 1) std::this_thread::yield();
      for (std::size_t i = 0; i < 32; ++i) ASSERT_EQ(pair.memory[1].words[i], round * i);
      __atomic_store_n(&flag, 2 * round, __ATOMIC_RELEASE);
    }
  });
  for (std::uint64_t round = 1; round <= 100; ++round) {
    for (std::size_t i = 0; i < 32; ++i) pair.memory[0].words[i] = round * i;
    pair.memory[0].words[63] = 2 * round - 1;
    ASSERT_EQ(pair.write(0, 0, 32).flags(0).post(pair.qp[0].get()), 0);
    ASSERT_EQ(pair.write(round, 63, 1).post(pair.qp[0].get()), 0);
    const ibv_wc wc = wait(pair.card[0]);
    ASSERT_EQ(wc.wr_id, round);
    ASSERT_EQ(wc.status, IBV_WC_SUCCESS);
    ASSERT_EQ(wc.opcode, IBV_WC_RDMA_WRITE);
    while (__atomic_load_n(&flag, __ATOMIC_ACQUIRE) < 2 * round) std::this_thread::yield();
  }
  reader.join();
}

TEST_F(FakeVerbsTest, GathersScattersAndCopiesWhatIsInline) {
  VerbsPair pair;
  auto& mine = pair.memory[0].words;
  for (std::size_t i = 0; i < 8; ++i) mine[i] = i;
  VerbsSend put(1, IBV_WR_RDMA_WRITE, {pair.memory[0].sge(6, 2), pair.memory[0].sge(1, 3)});
  ASSERT_EQ(put.at(pair.memory[1], 10).post(pair.qp[0].get()), 0);
  VerbsSend get(2, IBV_WR_RDMA_READ, {pair.memory[0].sge(20, 1), pair.memory[0].sge(30, 4)});
  ASSERT_EQ(get.at(pair.memory[1], 10).post(pair.qp[0].get()), 0);
  EXPECT_EQ(wait(pair.card[0]).wr_id, 1u);
  EXPECT_EQ(wait(pair.card[0]).byte_len, 40u);
  EXPECT_EQ(mine[20], 6u);
  EXPECT_EQ(mine[30], 7u);
  EXPECT_EQ(mine[33], 3u);
  std::uint64_t anywhere = 77;
  VerbsSend copied(3, IBV_WR_RDMA_WRITE, {{reinterpret_cast<std::uintptr_t>(&anywhere), 8, 0}});
  copied.at(pair.memory[1], 0).flags(IBV_SEND_INLINE | IBV_SEND_SIGNALED);
  ASSERT_EQ(copied.post(pair.qp[0].get()), 0);
  anywhere = 0;
  wait(pair.card[0]);
  EXPECT_EQ(pair.memory[1].words[0], 77u);
  EXPECT_EQ(pair.write(4, 0, 9).flags(IBV_SEND_INLINE).post(pair.qp[0].get()), EINVAL);
}

TEST_F(FakeVerbsTest, AtomicsOfSeveralQueuePairsAddUp) {
  VerbsCard card(0), other(1);
  VerbsWords sum(other, 1), old(card, 40);
  std::vector<VerbsQp> qps;
  for (int i = 0; i < 4; ++i) {
    qps.push_back(make_qp(card, IBV_QPT_RC));
    qps.push_back(make_qp(other, IBV_QPT_RC));
    join(qps[2 * i].get(), qps[2 * i + 1].get());
  }
  for (std::size_t i = 0; i < 40; ++i)
    ASSERT_EQ(atomic_add(i, old.sge(i, 1), sum, 3).post(qps[i % 4 * 2].get()), 0);
  for (int i = 0; i < 40; ++i) EXPECT_EQ(wait(card).status, IBV_WC_SUCCESS);
  std::sort(old.words.begin(), old.words.end());
  for (std::size_t i = 0; i < 40; ++i) EXPECT_EQ(old.words[i], 3 * i);
  for (const std::uint64_t expected : {5u, 120u}) {  // the first one misses
    VerbsSend swap(0, IBV_WR_ATOMIC_CMP_AND_SWP, {old.sge(0, 1)});
    swap.wr.atomic = {sum.address(), expected, 9, sum.mr->rkey};
    ASSERT_EQ(swap.post(qps[0].get()), 0);
    EXPECT_EQ(wait(card).opcode, IBV_WC_COMP_SWAP);
    EXPECT_EQ(old.words[0], 120u);
    EXPECT_EQ(sum.words[0], expected == 5 ? 120u : 9u);
  }
}

TEST_F(FakeVerbsTest, QueuePairsOvertakeEachOtherAndTheirRequestsDoNot) {
  VerbsCard card(0), other(1);
  VerbsWords words(card, 1), buffers(other, 2);
  ibv_srq_init_attr init{nullptr, {4, 1, 0}};
  VerbsSrq srq(ibv_create_srq(other.pd.get(), &init));
  VerbsQp from[2] = {make_qp(card, IBV_QPT_RC), make_qp(card, IBV_QPT_RC)};
  VerbsQp to[2] = {make_qp(other, IBV_QPT_RC, srq.get()), make_qp(other, IBV_QPT_RC, srq.get())};
  for (int i = 0; i < 2; ++i) {
    join(from[i].get(), to[i].get());
    ASSERT_EQ(VerbsSend(0, IBV_WR_SEND, {words.sge(0, 1)}).post(from[i].get()), 0);
    for (std::uint64_t id = 1; id < 40; ++id)
      ASSERT_EQ(VerbsSend(id, IBV_WR_RDMA_WRITE, {}).post(from[i].get()), 0);
  }
  ibv_sge sges[2] = {buffers.sge(0, 1), buffers.sge(1, 1)};
  ibv_recv_wr second{8, nullptr, &sges[1], 1}, first{7, &second, &sges[0], 1}, *bad = nullptr;
  ibv_wc none;
  EXPECT_EQ(ibv_poll_cq(card.cq.get(), 1, &none), 0);  // all wait for receives
  ASSERT_EQ(ibv_post_srq_recv(srq.get(), &first, &bad), 0);
  std::uint64_t next[2] = {0, 0};
  int changes = 0, last = 0;
  for (int i = 0; i < 80; ++i) {
    const ibv_wc wc = wait(card);
    const int which = wc.qp_num == from[0]->qp_num ? 0 : 1;
    EXPECT_EQ(wc.wr_id, next[which]++);
    changes += which != last;
    last = which;
  }
  EXPECT_GT(changes, 2);
  const std::uint64_t ids = wait(other).wr_id + wait(other).wr_id;
  EXPECT_EQ(ids, 15u);
}

// A request that fails, and its status.
struct Failing {
  const char* name;
  ibv_wc_status status;
  std::function<int(VerbsPair&)> post;
};
class FakeVerbsErrorTest : public FakeVerbsTest, public ::testing::WithParamInterface<Failing> {};

TEST_P(FakeVerbsErrorTest, ComesBackAndAllBehindIsFlushed) {
  VerbsPair pair;
  for (std::uint64_t id = 100; id < 103; ++id)
    ASSERT_EQ(post_receive(pair.qp[0].get(), id, pair.memory[0].sge(0, 1)), 0);
  ASSERT_EQ(GetParam().post(pair), 0);
  ASSERT_EQ(pair.write(2, 0, 1).flags(0).post(pair.qp[0].get()), 0);
  ASSERT_EQ(pair.write(3, 0, 1).post(pair.qp[0].get()), 0);
  ibv_wc wc = wait(pair.card[0]);
  EXPECT_EQ(wc.status, GetParam().status) << ibv_wc_status_str(wc.status);
  EXPECT_EQ(wc.wr_id, 1u);
  std::uint64_t sends = 2, receives = 100;
  for (int i = 0; i < 5; ++i) {
    wc = wait(pair.card[0]);
    EXPECT_EQ(wc.status, IBV_WC_WR_FLUSH_ERR);
    EXPECT_EQ(wc.wr_id, wc.wr_id < 100 ? sends++ : receives++);
  }
  ASSERT_EQ(pair.write(4, 0, 1).flags(0).post(pair.qp[0].get()), 0);
  EXPECT_EQ(wait(pair.card[0]).wr_id, 4u);
  ibv_qp_attr attr;
  ibv_qp_init_attr init;
  ASSERT_EQ(ibv_query_qp(pair.qp[0].get(), &attr, IBV_QP_STATE, &init), 0);
  EXPECT_EQ(attr.qp_state, IBV_QPS_ERR);
  if (GetParam().status != IBV_WC_LOC_PROT_ERR) return;
  ASSERT_EQ(VerbsSend(5, IBV_WR_RDMA_WRITE, {}).post(pair.qp[1].get()), 0);
  EXPECT_EQ(wait(pair.card[1]).status, IBV_WC_RETRY_EXC_ERR);
}

INSTANTIATE_TEST_SUITE_P(
    Each, FakeVerbsErrorTest,
    ::testing::Values(Failing{"Rkey", IBV_WC_REM_ACCESS_ERR,
                              [](VerbsPair& p) {
                                VerbsSend wr = p.write(1, 0, 1);
                                wr.wr.rdma.rkey = p.memory[1].mr->lkey;
                                return wr.post(p.qp[0].get());
                              }},
                      Failing{"RemoteRange", IBV_WC_REM_ACCESS_ERR,
                              [](VerbsPair& p) {
                                VerbsSend wr = p.write(1, 0, 2);
                                return wr.at(p.memory[1], 63).post(p.qp[0].get());
                              }},
                      Failing{"RemoteAccess", IBV_WC_REM_ACCESS_ERR,
                              [](VerbsPair& p) {
                                VerbsSend wr = p.write(1, 0, 1);
                                return wr.at(p.constant, 0).post(p.qp[0].get());
                              }},
                      Failing{"Lkey", IBV_WC_LOC_PROT_ERR,
                              [](VerbsPair& p) {
                                VerbsSend wr = p.write(1, 0, 1);
                                wr.sges[0].lkey = p.memory[0].mr->rkey;
                                return wr.post(p.qp[0].get());
                              }},
                      Failing{"LocalRange", IBV_WC_LOC_PROT_ERR,
                              [](VerbsPair& p) { return p.write(1, 63, 2).post(p.qp[0].get()); }},
                      Failing{"Unaligned", IBV_WC_REM_INV_REQ_ERR,
                              [](VerbsPair& p) {
                                VerbsSend wr = atomic_add(1, p.memory[0].sge(0, 1), p.memory[1], 1);
                                wr.wr.atomic.remote_addr += 4;
                                return wr.post(p.qp[0].get());
                              }},
                      Failing{"Cut", IBV_WC_RETRY_EXC_ERR,
                              [](VerbsPair& p) {
                                fake_verbs_cut(0);
                                return p.write(1, 0, 1).post(p.qp[0].get());
                              }},
                      Failing{"NobodyThere", IBV_WC_RETRY_EXC_ERR,
                              [](VerbsPair& p) {
                                p.qp[1].reset();
                                return p.write(1, 0, 1).post(p.qp[0].get());
                              }}),
    [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace weft

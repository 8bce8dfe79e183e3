// The functions that clients find in ibv_context::ops.
#pragma once

#include "tests/support/fake_verbs/objects.hpp"

namespace weft::fake_verbs {

int poll_cq(ibv_cq* cq, int count, ibv_wc* out);
int req_notify_cq(ibv_cq* cq, int solicited_only);
int post_send(ibv_qp* qp, ibv_send_wr* list, ibv_send_wr** bad);
int post_recv(ibv_qp* qp, ibv_recv_wr* list, ibv_recv_wr** bad);
int post_srq_recv(ibv_srq* srq, ibv_recv_wr* list, ibv_recv_wr** bad);

}  // namespace weft::fake_verbs

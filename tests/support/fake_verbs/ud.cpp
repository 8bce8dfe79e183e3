// Datagrams.
#include <endian.h>

#include <array>
#include <cstring>

#include "tests/support/fake_verbs/state.hpp"

namespace weft::fake_verbs {
namespace {

using Header = std::array<std::byte, kGrhBytes>;

// The last 20 bytes are a header of IPv4 with RoCE v2 between IPv4 addresses; else all are a GRH.
// Bytes that are not set are not to be looked at.
Header header_of(const Device& from, const ibv_ah_attr& to, std::size_t bytes) {
  Header header;
  header.fill(std::byte{0xaa});
  if (to.is_global == 0) return header;
  const ibv_gid_entry& source = from.gids[to.grh.sgid_index];
  if (source.gid_type == IBV_GID_TYPE_ROCE_V2 && source.gid.raw[10] == 0xff) {
    header[20] = std::byte{0x45};
    std::memcpy(&header[32], source.gid.raw + 12, 4);
    std::memcpy(&header[36], to.grh.dgid.raw + 12, 4);
    return header;
  }
  ibv_grh grh{};
  grh.version_tclass_flow = htobe32(6u << 28);
  grh.paylen = htobe16(static_cast<std::uint16_t>(bytes));
  grh.next_hdr = 0x1b;
  grh.hop_limit = to.grh.hop_limit;
  grh.sgid = source.gid;
  grh.dgid = to.grh.dgid;
  static_assert(sizeof grh == kGrhBytes);
  std::memcpy(header.data(), &grh, sizeof grh);
  return header;
}

bool is_lost() {
  State& all = state();
  return all.lost_each != 0 && ++all.datagrams % all.lost_each == 0;
}

// The queue pair that hears it; null: none does.
Qp* listener(const Qp& qp, const Send& work) {
  const auto found = state().qps.find(work.wr.wr.ud.remote_qpn);
  if (found == state().qps.end()) return nullptr;
  Qp& heard = *found->second;
  const bool receives = heard.now == IBV_QPS_RTR || heard.now == IBV_QPS_RTS;
  if (heard.qp_type != IBV_QPT_UD || !receives || heard.queue().posted.empty()) return nullptr;
  if (qp.device_of().is_cut || heard.device_of().is_cut) return nullptr;
  if (!names(qp.device_of(), work.to, heard.device_of())) return nullptr;
  const std::uint32_t given = work.wr.wr.ud.remote_qkey;
  const std::uint32_t qkey =
      given >> 31 != 0 ? qp.attr.qkey : given;  // a privileged one is not taken
  return qkey == heard.attr.qkey ? &heard : nullptr;
}

}  // namespace

Result carry_out_ud(Qp& qp, Send& work) {
  const auto local = payload(qp, work);
  if (!local) return {IBV_WC_LOC_PROT_ERR, 0};
  const std::size_t bytes = bytes_of(*local);
  if (bytes > kMtu) return {IBV_WC_LOC_LEN_ERR, 0};
  Qp* const heard = is_lost() ? nullptr : listener(qp, work);
  if (heard == nullptr) return {IBV_WC_SUCCESS, bytes};
  Header header = header_of(qp.device_of(), work.to, bytes);
  Spans message{{header.data(), header.size()}};
  message.insert(message.end(), local->begin(), local->end());
  ibv_wc wc{};
  wc.src_qp = qp.qp_num;
  wc.slid = qp.device_of().lid;
  wc.wc_flags = work.to.is_global != 0 ? IBV_WC_GRH : 0;
  deliver(*heard, work, message, wc);
  return {IBV_WC_SUCCESS, bytes};
}

}  // namespace weft::fake_verbs

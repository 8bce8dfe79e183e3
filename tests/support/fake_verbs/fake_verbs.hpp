// libfakeverbs: the functions of libibverbs that Weft calls, between the threads of one process.
//
// A device has one port, which reaches the ports of all others. A thread carries out what is
// posted: one request of one queue pair at a time, picked at random, so that queue pairs overtake
// each other, and requests of one of them do not. Memory is what ibv_reg_mr said it is, and sizes
// are what was asked for, not more: what a real NIC would let pass is refused here.
//
// The environment says what there is; it is read by ibv_get_device_list() while no device is open:
//   FAKE_VERBS_DEVICES   how many devices; 1
//   FAKE_VERBS_LINK      "ib": InfiniBand, with LIDs; Ethernet
//   FAKE_VERBS_ATOMICS   "glob": atomic with the processor, too, as ibv_query_device says; "none":
//                        there are none; HCA: atomic among those of that device. It reads the word,
//                        lets time pass, in which others may do what they like, and writes it
//   FAKE_VERBS_DROP_UD   N: every Nth datagram is lost; none
//   FAKE_VERBS_GPU       ways to register memory of the fake GPUs (tests/support/fake_gpu), read at
//                        each call: "dmabuf", "peer", "none"; both of the first
//   WEFT_TEST_SEED       of what is picked at random
#pragma once

#include <cstddef>

namespace weft {

// The objects that exist now, in the process.
struct FakeVerbsLive {
  std::size_t devices, pds, mrs, cqs, qps, srqs, channels, ahs;
  bool operator==(const FakeVerbsLive&) const = default;
};

}  // namespace weft

extern "C" {
void fake_verbs_live(weft::FakeVerbsLive* out);
// The nth call from now of that function, by the name that verbs.h has for it, fails so; nth 0:
// none does.
void fake_verbs_fail(const char* function, int nth, int error);
// How many atomics devices have carried out, ever.
std::size_t fake_verbs_atomics();
// And requests over reliable connections that device has.
std::size_t fake_verbs_carried(int device);
// Pulls the cable of that device, and puts it back.
void fake_verbs_cut(int device);
void fake_verbs_mend(int device);
// Pulls it at the nth request from now that the device sends over reliable connections. This
// request may still take effect at the other end; its sender does not hear of it.
void fake_verbs_cut_after(int device, std::size_t nth, bool takes_effect);
// At the nth request from now that the device would send over reliable connections, it sleeps over
// that queue pair's queue, until so many more calls have posted sends there; nth 0: it does not.
void fake_verbs_doze(int device, std::size_t nth, std::size_t posts);
}

// A libfabric that stands before the real one, and whose calls fail when they are told to. In the
// environment, FAULTY_FABRIC names what else is different, with commas:
//   unordered  it promises no order, and messages overtake reads and writes
//   strict     memory must be registered, also one's own, and is named by its address
//   offload    it says that it moves bytes without being polled
//   nofile     completion queues have no file to sleep on
//   busy       every second call has to be made again
#pragma once

// The nth call (1: the next, 0: none) of that name from now on, such as "fi_domain", returns
// -error.
extern "C" void faulty_fabric_fail(const char* call, int nth, int error);
// Completions of reads and writes that are errors from now on, or not.
extern "C" void faulty_fabric_cut(bool cut);
// The number of objects that were opened and not closed.
extern "C" int faulty_fabric_live();
// Calls that named no descriptor of memory where one is needed.
extern "C" int faulty_fabric_unregistered();

// The transports, a row each, in the order in which messages list them.
//
//   WEFT_TRANSPORT(name, serves, carries, help)
//
// A row declares make_NAME(), which NAME/NAME.cpp in this folder defines; CMake finds the file.
//   serves   the memory of one host that it serves without a network (HostMemory)
//   carries  false: for measurements, nothing arrives

WEFT_TRANSPORT(p2p, kOfHosts, true, "other PEs of this host, through mapped memory")
WEFT_TRANSPORT(loopback, kOwn, true, "this PE itself")
WEFT_TRANSPORT(staged, kOfGpus, true,
               "GPUs of this host that mine does not reach, through memory of the host")
WEFT_TRANSPORT(ib, kNone, true, "PEs of other hosts, by InfiniBand or RoCE")
WEFT_TRANSPORT(ofi, kNone, true,
               "PEs of other hosts, by what networks libfabric has: tcp, EFA, Slingshot")
WEFT_TRANSPORT(null, kNone, false,
               "measurements of rings: takes what kernels ask for, and brings nothing")

#undef WEFT_TRANSPORT

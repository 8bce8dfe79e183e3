// The one table of options: a row makes the field of weft::Options, the parser of its environment
// variable, the line of `weft-info --options` and the row of docs/reference/options.md.
//
//   WEFT_OPTION(field, env, kind, default, low, high, group, help)
//     kind: kBool, kInt, kBytes (takes k, m, g, t), kSeconds (takes ms, s, m, h), kText, kEnum,
//           kLevels (of the log)
//     low, high: range of a number; for kEnum `low` is the list "a|b|c" and `high` is unused
//     group: start, heap, team, wait, log, device, proxy, transport, test
WEFT_OPTION(bootstrap, "WEFT_BOOTSTRAP", kEnum, "auto", "auto|single|tcp|pmi1|pmi2|pmix|mpi", "", start,
            "How PEs find each other; auto takes tcp when WEFT_UNIQUE_ID is set, else what the launcher offers, else a single PE.")
WEFT_OPTION(pe, "WEFT_PE", kInt, -1, -1, 1048575, start,
            "Number of this PE; set by the launcher.")
WEFT_OPTION(npes, "WEFT_NPES", kInt, -1, -1, 1048576, start,
            "How many PEs there are; set by the launcher.")
WEFT_OPTION(unique_id, "WEFT_UNIQUE_ID", kText, "", "", "", start,
            "The text of a weft::UniqueId: where PEs meet; set by the launcher or carried by the user.")
WEFT_OPTION(start_timeout, "WEFT_START_TIMEOUT", kSeconds, 60, 0.001, 86400, start,
            "How long start-up waits for PEs that are missing before it names them and fails.")
WEFT_OPTION(bind_address, "WEFT_BIND_ADDRESS", kText, "", "", "", start,
            "Address on which a unique id listens; 0.0.0.0 for PEs of other hosts. Empty: 0.0.0.0 if a launcher may have started PEs on other hosts, else 127.0.0.1.")
WEFT_OPTION(bind_port, "WEFT_BIND_PORT", kInt, 0, 0, 65535, start,
            "Port on which a unique id listens; 0 takes a free one.")
WEFT_OPTION(bootstrap_interface, "WEFT_BOOTSTRAP_INTERFACE", kText, "", "", "", start,
            "Network on which a unique id listens, instead of WEFT_BIND_ADDRESS: an interface (eth0), all but some (^docker0), or a subnet (10.1.0.0/16, fd00::/8); several with commas, the first that is up is taken.")
WEFT_OPTION(pmix_library, "WEFT_PMIX_LIBRARY", kText, "", "", "", start,
            "File of the PMIx client library, if libpmix.so.2 is not where the system looks.")
WEFT_OPTION(mpi_library, "WEFT_MPI_LIBRARY", kText, "", "", "", start,
            "File of the MPI library, for a program that is not linked with the one of its launcher.")
WEFT_OPTION(heap_size, "WEFT_HEAP_SIZE", kBytes, 17179869184, 1048576, 17592186044416, heap,
            "Most bytes that one PE's symmetric heap may grow to. Address space, not memory; must be the same on every PE. The default shrinks to what a limit on address space (ulimit -v) leaves.")
WEFT_OPTION(heap_chunk, "WEFT_HEAP_CHUNK", kBytes, 268435456, 65536, 1099511627776, heap,
            "Step in which the heap grows; memory of a chunk is taken when it is first touched. The default shrinks to a quarter of the memory that the PE with the least has.")
WEFT_OPTION(adopt_size, "WEFT_ADOPT_SIZE", kBytes, 1073741824, 0, 17592186044416, heap,
            "Most bytes of a program's own host memory that can become symmetric (Runtime::adopt). Address space, not memory; must be the same on every PE. The default shrinks as that of WEFT_HEAP_SIZE does.")
WEFT_OPTION(static_data, "WEFT_STATIC_DATA", kEnum, "program", "program|all|none", "", heap,
            "OpenSHMEM programs: whose global and static variables are symmetric, the program's, or also those of its shared libraries that are not the system's.")
WEFT_OPTION(huge_pages, "WEFT_HUGE_PAGES", kEnum, "auto", "auto|on|off", "", heap,
            "Back the heap with huge pages: auto asks for them where the system allows, on fails without.")
WEFT_OPTION(numa, "WEFT_NUMA", kEnum, "local", "local|off", "", heap,
            "Where heap memory is placed: local prefers the NUMA node of the PE that owns it.")
WEFT_OPTION(max_teams, "WEFT_MAX_TEAMS", kInt, 32, 4, 4096, team,
            "How many teams can exist at a time, the predefined three included.")
WEFT_OPTION(wait_timeout, "WEFT_WAIT_TIMEOUT", kSeconds, 120, 0, 31536000, wait,
            "Deadline of every wait; when it passes, a report is printed. 0 waits for ever.")
WEFT_OPTION(wait_action, "WEFT_WAIT_ACTION", kEnum, "continue", "continue|wait|abort", "", wait,
            "After a wait's report: continue returns an error, wait goes on waiting and reports again at growing intervals, abort ends the job. OpenSHMEM and NVSHMEM programs, whose calls cannot return an error, take continue as wait.")
WEFT_OPTION(wait_limit, "WEFT_WAIT_LIMIT", kSeconds, 0, 0, 31536000, wait,
            "With WEFT_WAIT_ACTION=wait, how long a wait may last before it ends the job, with a report. 0: no limit.")
WEFT_OPTION(check, "WEFT_CHECK", kBool, false, 0, 1, wait,
            "Check arguments: symmetric on all PEs, in range, not overlapping, not freed; remember who last wrote a signal.")
WEFT_OPTION(log, "WEFT_LOG", kLevels, "warn", "", "", log,
            "Level (error, warn, info, debug, trace), then subsystem:level pairs: info,transport:debug.")
WEFT_OPTION(log_file, "WEFT_LOG_FILE", kText, "", "", "", log,
            "Where the log goes instead of standard error; %h is the host, %p the process, %e the PE.")
WEFT_OPTION(device_threads, "WEFT_DEVICE_THREADS", kInt, 4096, 1, 65536, device,
            "CPU target: most host threads that one launched grid may have.")
WEFT_OPTION(gpu, "WEFT_GPU", kText, "auto", "", "", device,
            "Which GPU a PE uses for symmetric memory and kernels: auto (in a program that has kernels for GPUs or has loaded the driver: the one that is current in the thread that makes the runtime, else one after the other), off, or a number as CUDA or HIP counts them.")
WEFT_OPTION(gpu_heap_size, "WEFT_GPU_HEAP_SIZE", kBytes, 137438953472, 2097152, 17592186044416, device,
            "Most bytes that one PE's symmetric heap of GPU memory may grow to. Address space, not memory, unless the driver shares memory by IPC handles only: then all of it is taken at once, 1 GiB by default. Must be the same on every PE.")
WEFT_OPTION(gpu_heap_chunk, "WEFT_GPU_HEAP_CHUNK", kBytes, 67108864, 65536, 1099511627776, device,
            "Step in which the heap of GPU memory grows; a chunk's memory is taken at once.")
WEFT_OPTION(kernels_table, "WEFT_KERNELS_TABLE", kText, "", "", "", device,
            "File of a table of plans, as weft-tune writes it, for operators of weft::kernels that were given none; PE 0's is everybody's. Empty: the built-in one.")
WEFT_OPTION(cuda_library, "WEFT_CUDA_LIBRARY", kText, "", "", "", device,
            "File of NVIDIA's driver library, if libcuda.so.1 is not where the system looks.")
WEFT_OPTION(hip_library, "WEFT_HIP_LIBRARY", kText, "", "", "", device,
            "File of AMD's HIP library, if libamdhip64.so is not where the system looks.")
WEFT_OPTION(ring_capacity, "WEFT_RING_CAPACITY", kInt, 1024, 4, 1048576, proxy,
            "Records in a device-to-host ring; rounded up to a power of two.")
WEFT_OPTION(proxy_batch, "WEFT_PROXY_BATCH", kInt, 32, 1, 4096, proxy,
            "Most records that the proxy takes from one ring before it looks at the next.")
WEFT_OPTION(transports, "WEFT_TRANSPORTS", kText, "p2p,loopback,ib,ofi", "", "", transport,
            "Transports of the host's memory in order of preference, comma-separated.")
WEFT_OPTION(gpu_transports, "WEFT_GPU_TRANSPORTS", kText, "p2p,loopback,staged,ib,ofi", "", "", transport,
            "The same for the memory of GPUs. Without staged, GPUs of a host must reach each other, or go by a network.")
WEFT_OPTION(gpu_rdma, "WEFT_GPU_RDMA", kEnum, "auto", "auto|dmabuf|peer|staged", "", transport,
            "How a network reaches the memory of GPUs: dmabuf (the driver exports it to the network device), peer (the network device's driver knows the GPU's: nvidia_peermem), staged (through memory of the host); auto takes the first that works.")
WEFT_OPTION(ib_device, "WEFT_IB_DEVICE", kText, "auto", "", "", transport,
            "RDMA devices of ib, comma-separated, each with its port or without: mlx5_0 or mlx5_0:1,mlx5_1; auto takes the active port that is nearest to the PE's NUMA node, and its equals.")
WEFT_OPTION(ib_rails, "WEFT_IB_RAILS", kInt, 2, 1, 4, transport,
            "Most ports that auto takes for a PE: large transfers go by all of them, and when one fails the others go on.")
WEFT_OPTION(ib_atomics, "WEFT_IB_ATOMICS", kEnum, "owner", "owner|nic", "", transport,
            "Who executes atomics of 8 bytes on the memory of hosts: the PE that owns the word, by a request (owner), or its RDMA device, for all PEs, that one and those of its host too (nic). Must be the same on every PE.")
WEFT_OPTION(ib_gid_index, "WEFT_IB_GID_INDEX", kInt, -1, -1, 1023, transport,
            "GID of those ports; -1 takes RoCE v2 before v1, and an IPv4 address before a global IPv6 one before a link-local one.")
WEFT_OPTION(ib_library, "WEFT_IB_LIBRARY", kText, "", "", "", transport,
            "File of the verbs library, if libibverbs.so.1 is not where the system looks.")
WEFT_OPTION(ofi_provider, "WEFT_OFI_PROVIDER", kText, "auto", "", "", transport,
            "Provider of libfabric that ofi uses, as fi_info names it: tcp, verbs, efa, cxi; auto takes the first that can do what ofi needs.")
WEFT_OPTION(ofi_domain, "WEFT_OFI_DOMAIN", kText, "auto", "", "", transport,
            "Network device of ofi, as fi_info names its domain: eth0, mlx5_0; auto takes the provider's first that other hosts can reach.")
WEFT_OPTION(ofi_timeout, "WEFT_OFI_TIMEOUT", kSeconds, 20, 0, 86400, transport,
            "How long a PE that owes ofi an answer may be silent before it counts as lost; 0 means for ever.")
WEFT_OPTION(ofi_library, "WEFT_OFI_LIBRARY", kText, "", "", "", transport,
            "File of libfabric, if libfabric.so.1 is not where the system looks.")
WEFT_OPTION(pretend_hosts, "WEFT_PRETEND_HOSTS", kInt, 1, 1, 4096, test,
            "Let one machine play that many hosts, with equal shares of the PEs in turn: processes map memory within one only, and reach the others by a network. Must be the same on every PE.")
WEFT_OPTION(fault, "WEFT_FAULT", kText, "", "", "", test,
            "Put a fault injector around every transport: comma-separated key=value of seed (of the random choices), late=1 (deliver as late and as unordered as the memory model allows), delay, duplicate, drop, busy (probabilities per operation), max_bytes (an operation is cut to), fail_after (operations until a lane fails), kill_pe and kill_after (a PE that is gone, and operations until then). Example: seed=7,late=1,busy=0.1.")
#undef WEFT_OPTION

#!/usr/bin/env python3
"""Times of the Python package on GPUs, beside torch's NCCL and symmetric-memory operators in the same run.

    torchrun --nproc-per-node=2 speed.py [--tsv]       one process for each GPU
    weft-run -n 2 python3 speed.py                     processes may share a GPU: without torch's operators, then

Rows: import and start; the host's time for a call; weft.all_reduce of 8 B to 1 MiB, eager and in a CUDA graph; a put with a
signal and its wait in a kernel of Triton, and in CUDA (by CuPy). Times in microseconds unless they say otherwise: the
least of several repetitions. A ratio is the baseline's time over Weft's: above 1 Weft is faster.
"""

import argparse
import os
import subprocess
import sys
import time

# Torch's symmetric memory would make multicast objects.
os.environ.setdefault("TORCH_SYMM_MEM_DISABLE_MULTICAST", "1")
SIZES = [8, 64, 512, 4096, 32768, 131072, 1 << 20]
REPETITIONS = 5


def timed(body, calls):
    """The host's time for a call, in microseconds, and the GPU's. PEs begin together: one that is late would be part of the
    others' time."""
    import torch

    import weft

    torch.cuda.synchronize()
    weft.barrier()
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    start = time.perf_counter()
    for _ in range(calls):
        body()
    host = (time.perf_counter() - start) / calls * 1e6
    end.record()
    torch.cuda.synchronize()
    return host, begin.elapsed_time(end) / calls * 1e3


def least(bodies, calls):
    """The least of the repetitions, of all bodies in turn: (host, GPU) for each."""
    for body in bodies:
        for _ in range(3):
            body()
    rounds = [[timed(body, calls) for body in bodies] for _ in range(REPETITIONS)]
    return [tuple(min(each) for each in zip(*of_body)) for of_body in zip(*rounds)]


def graph_of(body, calls):
    """Replays that many calls."""
    import torch

    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        body()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        for _ in range(calls):
            body()
    return graph.replay


class Report:
    def __init__(self, is_mine, as_tsv):
        self.is_mine, self.as_tsv = is_mine, as_tsv

    def row(self, *cells):
        texts = [f"{cell:.2f}" if isinstance(cell, float) else str(cell) for cell in cells]
        if self.is_mine:
            print("\t".join(texts) if self.as_tsv else "".join(f"{text:>{34 if i == 0 else 14}}" for i, text in enumerate(texts)))


def time_start(report, began):
    import weft

    alone = [sys.executable, "-c", "import time; t = time.perf_counter(); import weft; print((time.perf_counter() - t) * 1e3)"]
    report.row("import weft (ms)", min(float(subprocess.run(alone, capture_output=True, check=True).stdout) for _ in range(5)))
    report.row("weft.init, CUDA's context there (ms)", began * 1e3)
    report.row("PEs", weft.n_pes())


def time_calls(report):
    """A call without work is all that Python and the checks cost over the C call."""
    import torch

    import weft
    import weft.torch

    x, out, none = torch.ones(1024, device="cuda"), torch.ones(1024, device="cuda"), torch.ones(0, device="cuda")
    total = weft.AllReduce(1024)

    def host(body, calls=400):
        return least([body], calls)[0][0]

    report.row("the host's time for a call of", "us")
    report.row("AllReduce object, no elements", host(lambda: total(none, none), 1000))
    report.row("AllReduce object", host(lambda: total(out, x)))
    report.row("weft.all_reduce(out=)", host(lambda: weft.all_reduce(x, out=out)))
    report.row("weft.all_reduce", host(lambda: weft.all_reduce(x)))
    with torch.inference_mode():
        report.row("torch.ops.weft.all_reduce", host(lambda: torch.ops.weft.all_reduce(x)))
    report.row("torch.add(out=)", host(lambda: torch.add(x, x, out=out)))


def baselines(has_nccl):
    """Names, and what makes an all-reduce in place of a tensor."""
    import torch
    from torch import distributed

    if not has_nccl:
        return []
    import torch.distributed._symmetric_memory as symmetric

    group = distributed.group.WORLD.group_name

    def one_shot(x):
        buffer = symmetric.empty(x.numel(), dtype=x.dtype, device=x.device)
        symmetric.rendezvous(buffer, group)
        return lambda: torch.ops.symm_mem.one_shot_all_reduce(buffer, "sum", group)

    def two_shot(x):
        buffer = symmetric.empty(x.numel(), dtype=x.dtype, device=x.device)
        symmetric.rendezvous(buffer, group)
        return lambda: torch.ops.symm_mem.two_shot_all_reduce_(buffer, "sum", group)

    return [("NCCL", lambda x: lambda: distributed.all_reduce(x)), ("one-shot", one_shot), ("two-shot", two_shot)]


def time_all_reduce(report, has_nccl):
    import torch

    import weft

    others = baselines(has_nccl)
    names = [f"{name} {way}" for way in ("eager", "graph") for name in ["weft", *(name for name, _ in others)]]
    report.row("all_reduce of float32, bytes", *names, "least ratio")
    for size in SIZES:
        x = torch.ones(size // 4, device="cuda")
        bodies = {"weft": lambda x=x: weft.all_reduce(x, out=x)}
        for name, make in others:
            if name != "two-shot" or x.numel() % (4 * weft.n_pes()) == 0:
                bodies[name] = make(x.clone())
        replayed = 20
        graphs = [graph_of(body, replayed) for body in bodies.values()]
        eager = dict(zip(bodies, (gpu for _, gpu in least(bodies.values(), 400))))
        graph = dict(zip(bodies, (gpu / replayed for _, gpu in least(graphs, 10))))
        ratios = [times[name] / times["weft"] for times in (eager, graph) for name in bodies if name != "weft"]
        cells = [times.get(name, float("nan")) for times in (eager, graph) for name in ["weft", *dict(others)]]
        report.row(size, *cells, min(ratios, default=float("nan")))


def time_signals(report):
    """A put with a signal and its wait, by Triton and by a kernel in CUDA that does the same with as many threads."""
    import torch

    import weft

    box, came = weft.zeros(1 << 16, "uint8"), weft.zeros(1, "uint64")
    data = torch.zeros(1 << 16, dtype=torch.uint8, device="cuda")
    try:
        import cupy
        import pingpong
        import weft.triton  # noqa: F401  for pingpong
    except ImportError as missing:
        report.row("put_signal and wait", f"not measured: {missing}")
        return
    if weft.n_pes() < 2:
        return
    from weft import device_code

    me, turns, done = weft.my_pe(), 1000, 0
    module = cupy.RawModule(code=pingpong.CUDA, options=device_code.nvrtc_options())
    in_cuda = module.get_function("there_and_back")
    arrays = [cupy.from_dlpack(array) for array in (box, came, data)]
    stream = cupy.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream)

    def by_triton(size):
        nonlocal done
        pingpong.there_and_back[(1,)](box.torch(), came.torch(), data, size, done, turns, me, num_warps=4)
        done += turns

    def by_cuda(size):
        nonlocal done
        numbers = (cupy.uint64(each) for each in (size, done, turns))
        with stream:
            in_cuda((1,), (128,), (cupy.uint64(device_code.context()), *arrays, *numbers, cupy.int32(me)))
        done += turns

    report.row("put_signal and wait, bytes", "Triton", "CUDA", "ratio")
    for size in (8, 1024, 65536):
        both = [lambda size=size, call=call: call(size) if me < 2 else None for call in (by_triton, by_cuda)]
        triton, cuda = (gpu / (2 * turns) for _, gpu in least(both, 1))
        report.row(size, triton, cuda, cuda / triton)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tsv", action="store_true", help="tab-separated")
    args = parser.parse_args()
    import torch
    from torch import distributed

    import weft

    under_torchrun = "TORCHELASTIC_RUN_ID" in os.environ
    gpus = torch.cuda.device_count()
    local = int(os.environ.get("LOCAL_RANK", os.environ.get("WEFT_LOCAL_RANK", "0")))
    torch.cuda.set_device(local % gpus)
    torch.zeros(1, device="cuda")
    has_nccl = under_torchrun and int(os.environ["LOCAL_WORLD_SIZE"]) <= gpus
    if has_nccl:
        distributed.init_process_group("nccl", device_id=torch.device("cuda", local))
        distributed.barrier()
    start = time.perf_counter()
    weft.init(device="cuda")
    report = Report(weft.my_pe() == 0, args.tsv)
    time_start(report, time.perf_counter() - start)
    time_calls(report)
    time_all_reduce(report, has_nccl)
    time_signals(report)
    weft.finalize()
    if has_nccl:
        distributed.destroy_process_group()


if __name__ == "__main__":
    main()

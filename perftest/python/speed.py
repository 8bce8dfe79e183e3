#!/usr/bin/env python3
"""Times of the Python package on GPUs, beside torch's NCCL and symmetric-memory operators in the same run.

    torchrun --nproc-per-node=2 speed.py [--tsv]       one process for each GPU
    weft-run -n 2 python3 speed.py                     processes may share a GPU: without torch's operators, then

Rows: import and start; the host's time for a call; weft.all_reduce of 8 B to 1 MiB, eager and in a CUDA graph; a put with a
signal there and back in a kernel of Triton. Times in microseconds unless they say otherwise: the least of several
repetitions. A ratio is the baseline's time over Weft's: above 1 Weft is faster.
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


def least(body, calls):
    """The host's time for a call, in microseconds, and the GPU's."""
    import torch

    host, gpu = float("inf"), float("inf")
    for _ in range(3):
        body()
    for _ in range(REPETITIONS):
        torch.cuda.synchronize()
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        start = time.perf_counter()
        for _ in range(calls):
            body()
        host = min(host, (time.perf_counter() - start) / calls * 1e6)
        end.record()
        torch.cuda.synchronize()
        gpu = min(gpu, begin.elapsed_time(end) / calls * 1e3)
    return host, gpu


def in_graph(body, calls=20):
    """The GPU's time for a call that a graph replays."""
    import torch

    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        body()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        for _ in range(calls):
            body()
    return least(graph.replay, 10)[1] / calls


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
    report.row("the host's time for a call of", "us")
    report.row("AllReduce object, no elements", least(lambda: total(none, none), 1000)[0])
    report.row("AllReduce object", least(lambda: total(out, x), 400)[0])
    report.row("weft.all_reduce(out=)", least(lambda: weft.all_reduce(x, out=out), 400)[0])
    report.row("weft.all_reduce", least(lambda: weft.all_reduce(x), 400)[0])
    with torch.inference_mode():
        report.row("torch.ops.weft.all_reduce", least(lambda: torch.ops.weft.all_reduce(x), 400)[0])
    report.row("torch.add(out=)", least(lambda: torch.add(x, x, out=out), 400)[0])


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
        bodies = [lambda x=x: weft.all_reduce(x, out=x)]
        for name, make in others:
            is_out = name == "two-shot" and x.numel() % (4 * weft.n_pes()) != 0
            bodies.append(None if is_out else make(x.clone()))
        eager = [least(body, 100)[1] if body else float("nan") for body in bodies]
        graph = [in_graph(body) if body else float("nan") for body in bodies]
        ratios = [times[i] / times[0] for times in (eager, graph) for i in range(1, len(bodies)) if bodies[i]]
        report.row(size, *eager, *graph, min(ratios, default=float("nan")))


def time_triton(report):
    import torch

    import weft

    box, came = weft.zeros(1 << 16, "uint8"), weft.zeros(1, "uint64")
    data = torch.zeros(1 << 16, dtype=torch.uint8, device="cuda")
    try:
        import weft.triton as wt
        from pingpong import there_and_back
    except ImportError as missing:
        report.row("Triton", f"not there: {missing}")
        return
    if weft.n_pes() < 2 or weft.my_pe() > 1:
        return
    done = 0
    for size in (8, 1024, 65536):

        def launch(size=size):
            nonlocal done
            there_and_back[(1,)](wt.context(), box.torch(), came.torch(), data, size, done, 100, weft.my_pe())
            done += 100

        report.row(f"Triton, put_signal and wait, {size} B", least(launch, 1)[1] / 200)


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
    time_triton(report)
    weft.finalize()
    if has_nccl:
        distributed.destroy_process_group()


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""PyTorch's operators on symmetric memory, and FlashInfer's AllReduce with a residual and a norm where it is installed,
beside the rows that weft-perf's sets collectives and fused have printed.

  perftest/peers/torch_symmetric.py --gpus N FILE...

Of each row of AllReduce, AllReduceNorm, AgGemm, GemmRs and GemmAr in FILEs it prints "torch: what | size | us | which",
on the same operands' sizes: the fastest of what PyTorch has (one_shot and two_shot all-reduces, behind torch.mm for
GemmAr, before an addition and rms_norm for AllReduceNorm; fused_all_gather_matmul; fused_matmul_reduce_scatter) and of
FlashInfer's allreduce_fusion (one-shot and two-shot, with programmatic launch), in bfloat16. A time is that of one call of many in a CUDA graph,
or without where capture fails, the median of turns, on the slowest GPU. Weights are taken in turns, as weft-perf's
set fused takes them. NVLink's multicast stays off, as it is for Weft and NCCL.
"""
import argparse
import functools
import importlib.util
import os
import pathlib
import statistics
import sys
import tempfile
import unittest.mock

os.environ["TORCH_SYMM_MEM_DISABLE_MULTICAST"] = "1"
os.environ["NCCL_NVLS_ENABLE"] = "0"

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
import torch.distributed._symmetric_memory as symm_mem  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import kernels_report  # noqa: E402

TURNS = 5
GRAPH_US = 6000.0
CACHE_BYTES = 100 << 20
KINDS = ("AllReduce", "AllReduceNorm", "AgGemm", "GemmRs", "GemmAr")


def is_installed(module):
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


@functools.cache
def flashinfer_comm():
    """FlashInfer's module, which compiles its kernels at the first call; None where it is not installed."""
    if not is_installed("flashinfer"):
        return None
    # It imports cuda.tile for operators that are not called here.
    for module in ("cuda", "cuda.tile"):
        if not is_installed(module):
            sys.modules[module] = unittest.mock.MagicMock()
    try:
        from flashinfer import comm  # pylint: disable=import-outside-toplevel
        return comm
    except ImportError as error:
        print(f"without FlashInfer: {error}", file=sys.stderr)
        return None


class Bench:
    def __init__(self, rank, gpus, most_bytes):
        self.rank, self.gpus = rank, gpus
        self.most_bytes = most_bytes  # of a collective's messages
        self.device = torch.device("cuda", rank)
        self.group = dist.group.WORLD.group_name
        self.op = torch.ops.symm_mem

    def random(self, *shape):
        return torch.randn(*shape, device=self.device, dtype=torch.bfloat16)

    def symmetric(self, *shape):
        memory = symm_mem.empty(*shape, dtype=torch.bfloat16, device=self.device)
        symm_mem.rendezvous(memory, self.group)
        return memory.zero_()

    def slowest(self, us):
        times = torch.tensor([us], device=self.device)
        dist.all_reduce(times, dist.ReduceOp.MAX)
        return times.item()

    def once(self, run, calls):
        """us of a call."""
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.synchronize()
        dist.barrier()
        begin.record()
        run()
        end.record()
        torch.cuda.synchronize()
        return self.slowest(begin.elapsed_time(end) * 1e3 / calls)

    def time(self, call):
        def many(count):
            for _ in range(count):
                call()

        for _ in range(3):
            many(1)
        us = self.once(lambda: many(4), 4)
        calls = min(max(int(GRAPH_US / max(us, 1.0)), 2), 100)
        run = lambda: many(calls)  # noqa: E731
        graph = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(graph):
                many(calls)
            run = graph.replay
        except RuntimeError:
            torch.cuda.synchronize()
        run()
        return statistics.median(self.once(run, calls) for _ in range(TURNS))

    def fastest(self, ways):
        """The time in us and the name of the fastest way; ways that fail are left out."""
        best = None
        for name, call in ways:
            try:
                us = self.time(call)
            except (RuntimeError, ValueError):
                continue
            best = min(best or (us, name), (us, name))
        return best

    def sums(self, memory):
        """All-reduces of symmetric memory, in place or to new memory."""
        ways = [("one_shot", lambda: self.op.one_shot_all_reduce(memory, "sum", self.group))]
        if memory.numel() % (8 * self.gpus) == 0:
            ways.append(("two_shot", lambda: self.op.two_shot_all_reduce_(memory, "sum", self.group)))
        return ways

    def weights(self, n, k):
        """A function that gives the next matrix at each call, transposed as torch.mm takes it."""
        count = max(1, -(-CACHE_BYTES // (2 * n * k)))
        every = [self.random(n, k).t() for _ in range(count)]
        turn = 0

        def following():
            nonlocal turn
            turn += 1
            return every[turn % count]

        return following

    def all_reduce(self, count):
        return self.sums(self.symmetric(count)) if count % 8 == 0 else []

    @functools.cache
    def fusion_workspace(self, hidden, most_rows):
        return flashinfer_comm().create_allreduce_fusion_workspace(
            backend="trtllm", world_size=self.gpus, rank=self.rank, max_token_num=most_rows, hidden_dim=hidden,
            dtype=torch.bfloat16)

    def all_reduce_norm(self, rows, hidden, most_rows):
        memory, residual, weight = self.symmetric(rows, hidden), self.random(rows, hidden), self.random(hidden)

        def before_norm(name, reduce):
            def call():
                torch.nn.functional.rms_norm(reduce() + residual, (hidden,), weight)
            return f"{name}, add, rms_norm", call

        ways = [before_norm(name, reduce) for name, reduce in self.sums(memory)]
        comm = flashinfer_comm()
        if comm is None:
            return ways
        workspace, a = self.fusion_workspace(hidden, most_rows), self.random(rows, hidden)
        sums, out = torch.empty_like(a), torch.empty_like(a)

        def fused(one_shot):
            return lambda: comm.allreduce_fusion(
                input=a, workspace=workspace, pattern=comm.AllReduceFusionPattern.kARResidualRMSNorm,
                launch_with_pdl=True, residual_in=residual, residual_out=sums, norm_out=out, rms_gamma=weight,
                use_oneshot=one_shot)

        ways.append(("FlashInfer, one-shot", fused(True)))
        if rows > self.gpus:  # which it wants for two
            ways.append(("FlashInfer, two-shot", fused(False)))
        return ways

    def ag_gemm(self, m, n, k):
        a, b = self.random(m // self.gpus, k), self.random(n, k).t()
        return [("fused_all_gather_matmul", lambda: self.op.fused_all_gather_matmul(a, [b], 0, self.group))]

    def gemm_rs(self, m, n, k):
        if m % self.gpus != 0:  # which it does not take
            return []
        a, b = self.random(m, k), self.weights(n, k)
        return [("fused_matmul_reduce_scatter",
                 lambda: self.op.fused_matmul_reduce_scatter(a, b(), "sum", 0, self.group))]

    def gemm_ar(self, m, n, k):
        a, b, c = self.random(m, k), self.weights(n, k), self.symmetric(m, n)

        def behind(reduce):
            def both():
                torch.mm(a, b(), out=c)
                reduce()
            return both

        return [(f"mm, {name}", behind(reduce)) for name, reduce in self.sums(c)]

    def ways(self, row):
        kind = row.what.split()[0]
        if kind == "AllReduce":
            return self.all_reduce(row.bytes // 2)
        if kind == "AllReduceNorm":
            hidden = int(row.what.split()[1])
            return self.all_reduce_norm(row.bytes // 2 // hidden, hidden, self.most_bytes // 2 // hidden)
        m, n, k = (int(side) for side in row.size.split(" x "))
        return {"AgGemm": self.ag_gemm, "GemmRs": self.gemm_rs, "GemmAr": self.gemm_ar}[kind](m, n, k)


def run(rank, gpus, rendezvous, rows):
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", init_method=rendezvous, rank=rank, world_size=gpus, device_id=torch.device("cuda", rank))
    symm_mem.enable_symm_mem_for_group(dist.group.WORLD.group_name)
    bench = Bench(rank, gpus, max((row.bytes for row in rows), default=0))
    for row in rows:
        torch.manual_seed(rank)
        best = bench.fastest(bench.ways(row))
        if rank == 0 and best:
            print(f"torch: {row.what} | {row.size} | {best[0]:.2f} | {best[1]}", flush=True)
        torch.cuda.empty_cache()
    dist.barrier()
    dist.destroy_process_group()


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--gpus", type=int, default=torch.cuda.device_count())
    arguments.add_argument("files", type=pathlib.Path, nargs="+")
    given = arguments.parse_args()
    rows = [row for path in given.files for row in kernels_report.parse(path, 1, 1).rows
            if row.what.split()[0] in KINDS]
    with tempfile.TemporaryDirectory() as folder:
        torch.multiprocessing.spawn(run, (given.gpus, f"file://{folder}/rendezvous", rows), nprocs=given.gpus)


if __name__ == "__main__":
    main()

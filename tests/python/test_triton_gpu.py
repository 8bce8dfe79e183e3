"""Kernels of Triton on GPUs, on as many PEs as the test is started with, which may share a GPU. Skipped where there is
none."""

import pytest

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("there is no GPU", allow_module_level=True)

import triton  # noqa: E402
import triton.language as tl  # noqa: E402
import triton_kernels as kernels  # noqa: E402

import weft  # noqa: E402
import weft.triton as wt  # noqa: E402
from weft.triton import language as dl  # noqa: E402


@triton.autotune(configs=[triton.Config({"WIDTH": width}, num_warps=4) for width in (128, 256)], key=["count"])
@triton.heuristics({"EVEN": lambda args: args["count"] % 256 == 0})
@wt.jit
def size_of_the_job(out, count, WIDTH: tl.constexpr, EVEN: tl.constexpr):
    lanes = tl.program_id(0) * WIDTH + tl.arange(0, WIDTH)
    tl.store(out + lanes, dl.num_ranks() * 10 + dl.rank(), mask=lanes < count)


@pytest.fixture(scope="module", autouse=True)
def job():
    with pytest.raises(weft.ArgumentError, match="call weft.init"):
        size_of_the_job[(1,)](torch.zeros(1, device="cuda"), 1)
    weft.init(device="cuda")
    yield
    weft.finalize()


def neighbours():
    n, me = weft.n_pes(), weft.my_pe()
    return (me + 1) % n, (me - 1) % n


def test_functions_of_the_table():
    box, came = weft.zeros(1024), weft.zeros(1, "uint64")
    for turn in range(1, 4):
        data = torch.full((1024,), float(weft.my_pe() + 10 * turn), device="cuda")
        kernels.pass_on[(1,)](wt.context(), box.torch(), came.torch(), data, 4096, turn)
        assert (box.torch() == neighbours()[1] + 10 * turn).all()
        weft.on_stream.barrier()


@pytest.mark.parametrize("warps", [1, 4])
def test_a_queue_between_programs(warps):
    count, slots, signals = 1000, weft.zeros(32 * 128), weft.zeros(32, "uint64")
    for turn in range(3):
        of = lambda pe: torch.randn(count * 128, generator=torch.Generator().manual_seed(7 * pe + turn))
        inp, out = of(weft.my_pe()).cuda(), torch.full((count * 128,), float("nan"), device="cuda")
        signals.torch().view(torch.int64).zero_()
        weft.on_stream.barrier()
        kernels.queue[(20,)](inp, out, count, slots.torch(), signals.torch(), 32, 128, 16, 4, num_warps=warps)
        assert torch.equal(out.cpu(), of(neighbours()[1]))
        weft.on_stream.barrier()


def test_names_of_nvshmem():
    n, me = weft.n_pes(), weft.my_pe()
    right, left = neighbours()
    team = weft.team(list(range(n))[::-1])
    out = torch.zeros(8, dtype=torch.int32, device="cuda")
    dst, src, words = weft.zeros(512), weft.zeros(128), weft.zeros(2, "uint64")
    small = weft.zeros(8 + n, "int32")
    src.torch().fill_(me + 1)
    small.torch()[4] = 70 + me
    torch.cuda.synchronize()
    weft.on_stream.barrier()
    kernels.move_by_shmem_names[(1,)](
        out, dst.torch(), src.torch(), words.torch(), small.torch(), wt.team_address(team), 512, num_warps=4
    )
    weft.on_stream.barrier()
    quarters = dst.torch().reshape(4, 128).cpu()
    assert (quarters == torch.tensor([left + 1, left + 1, left + 1, n])[:, None]).all()
    assert small.torch()[8:].tolist() == [70 + pe for pe in range(n)[::-1]] and int(small.torch()[0]) == 40 + left
    assert out.tolist() == [n - 1 - me, n, n - 1, 40 + me, 1, 3, 9, 3]
    torch.cuda.synchronize()


def test_autotune_heuristics_and_graphs():
    out = torch.zeros(1000, dtype=torch.int32, device="cuda")
    launch = lambda: size_of_the_job[lambda meta: (-(-1000 // meta["WIDTH"]),)](out, 1000)
    launch()
    wanted = weft.n_pes() * 10 + weft.my_pe()
    assert (out == wanted).all()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        launch()
    for _ in range(3):
        out.zero_()
        graph.replay()
        assert (out == wanted).all()


def test_rows_behind_their_signals():
    """Rows and signals come by copies, since a kernel that is launched for the first time may wait for one that runs."""
    signals, rows = torch.zeros(9, dtype=torch.int64, device="cuda"), torch.zeros(9, 512, device="cuda")
    given = torch.arange(9.0)[:, None].expand(9, 512).contiguous().pin_memory()
    ones = torch.ones(9, dtype=torch.int64).pin_memory()
    out, late = torch.zeros(512, device="cuda"), torch.cuda.Stream()
    with torch.cuda.stream(late):
        signals.copy_(ones, non_blocking=True)
    for stages in (1, 2, 3, 4):
        torch.cuda.synchronize()
        signals.zero_()
        rows.fill_(float("nan"))
        torch.cuda.synchronize()
        kernels.rows_behind_their_signals[(1,)](out, rows, signals, 9, 512, stages)
        with torch.cuda.stream(late):
            for row in range(9):
                rows[row].copy_(given[row], non_blocking=True)
                signals[row : row + 1].copy_(ones[row : row + 1], non_blocking=True)
        torch.cuda.synchronize()
        assert (out == sum(range(9))).all()


def test_kernels_follow_the_current_job():
    out = torch.zeros(256, dtype=torch.int32, device="cuda")
    launch = lambda: size_of_the_job[lambda meta: (-(-256 // meta["WIDTH"]),)](out, 256)
    launch()
    mine = weft.n_pes() * 10 + weft.my_pe()
    assert (out == mine).all()
    alone = weft.join(unique_id=weft.unique_id(), rank=0, size=1, device="cuda")
    with weft.use(alone):
        launch()
        assert (out == 10).all()
    launch()
    assert (out == mine).all()
    weft.finalize(alone)

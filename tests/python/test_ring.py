"""Operations and memory, on as many PEs as the test is started with."""

import gc
import mmap

import numpy as np
import pytest

import weft


@pytest.fixture(scope="module", autouse=True)
def job():
    weft.init()
    yield
    weft.finalize()


def test_a_put_with_a_signal_comes_whole():
    right = (weft.my_pe() + 1) % weft.n_pes()
    left = (weft.my_pe() - 1) % weft.n_pes()
    box = weft.zeros(1000, "float64")
    came = weft.zeros(1, "uint64")
    for turn in range(1, 4):
        weft.put(box, np.full(1000, weft.my_pe() + turn, "float64"), right, signal=came, value=turn)
        weft.wait(came, ">=", turn)
        assert (box.numpy() == left + turn).all()
        weft.barrier()


def test_part_of_a_tensor_is_put_and_got():
    table = weft.zeros((weft.n_pes(), 3, 5), "int32")
    row = np.arange(15, dtype="int32").reshape(3, 5) + 100 * weft.my_pe()
    for pe in range(weft.n_pes()):
        weft.put(table[weft.my_pe()], row, pe)
    weft.barrier()
    for pe in range(weft.n_pes()):
        assert (table.numpy()[pe] == np.arange(15).reshape(3, 5) + 100 * pe).all()
    copy = np.full((2, 5), -1, "int32")
    weft.get(copy, table[0][1:3], weft.n_pes() - 1)
    assert (copy == np.arange(5, 15).reshape(2, 5)).all()
    weft.barrier()


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int64", "float16", "float32", "float64", "complex64"])
@pytest.mark.parametrize("op", ["sum", "max"])
def test_reductions_are_those_of_numpy(dtype, op):
    if op == "max" and dtype == "complex64":
        pytest.skip("complex numbers have no order")
    n = weft.n_pes()
    # Small whole numbers, so that no type rounds; the order of sums does not matter then.
    of = lambda pe: (np.random.default_rng(pe).integers(-5 if dtype[0] != "u" else 0, 6, 7 * n)).astype(dtype)
    src, dst, part = weft.empty(7 * n, dtype), weft.empty(7 * n, dtype), weft.empty(7, dtype)
    src.numpy()[:] = of(weft.my_pe())
    dst.numpy().view("uint8")[:] = 0xFF
    part.numpy().view("uint8")[:] = 0xFF
    weft.barrier()
    weft.reduce(dst, src, op)
    fold = np.add if op == "sum" else np.maximum
    wanted = fold.reduce([of(pe) for pe in range(n)]).astype(dtype)
    assert (dst.numpy() == wanted).all()
    weft.reducescatter(part, src, op)
    assert (part.numpy() == wanted[7 * weft.my_pe() : 7 * weft.my_pe() + 7]).all()


def test_blocks_go_where_they_are_to():
    n, me = weft.n_pes(), weft.my_pe()
    src, dst = weft.empty((n, 4), "int64"), weft.zeros((n, 4), "int64")
    src.numpy()[:] = np.arange(n)[:, None] + 1000 * me
    weft.alltoall(dst, src)
    assert (dst.numpy() == me + 1000 * np.arange(n)[:, None]).all()
    weft.fcollect(dst, src[0])
    assert (dst.numpy() == 1000 * np.arange(n)[:, None]).all()
    weft.broadcast(dst[0], src[n - 1], n - 1)
    assert (dst.numpy()[0] == n - 1 + 1000 * (n - 1)).all()


def test_counters_are_added_to():
    counter = weft.zeros((), "int32")
    weft.atomic("add", counter, weft.my_pe() - 1, 0)
    weft.barrier()
    n = weft.n_pes()
    assert weft.atomic("fetch", counter, None, 0) == n * (n - 1) // 2 - n
    weft.barrier()
    if weft.my_pe() == 0:
        assert weft.atomic("swap", counter, -7, 0) == n * (n - 1) // 2 - n
        assert weft.atomic("compare_swap", counter, 5, 0, compare=-7) == -7
        assert weft.atomic("fetch_add", counter, 1, 0) == 5
        assert weft.test(counter, "==", 6) and not weft.test(counter, "<", 6)
    weft.barrier()


def test_teams_count_their_own_ranks():
    n = weft.n_pes()
    back = weft.team(list(reversed(range(n))))
    assert back.size == n and back.rank == n - 1 - weft.my_pe() and back.pe_of(0) == n - 1
    src, dst = weft.empty(1, "int64"), weft.empty(n, "int64")
    src.numpy()[0] = weft.my_pe()
    weft.fcollect(dst, src, back)
    assert (dst.numpy() == np.arange(n)[::-1]).all()
    back.destroy()
    some = weft.team([0])
    assert some.rank == (0 if weft.my_pe() == 0 else -1)
    assert weft.world().size == n and weft.node().size == n


def test_memory_of_a_peer_is_mapped():
    mine = weft.zeros(8, "float32")
    mine.numpy()[:] = weft.my_pe()
    weft.barrier()
    for pe in range(weft.n_pes()):
        assert (np.from_dlpack(weft.peer(mine, pe)) == pe).all()
    weft.barrier()


def test_memory_is_freed_by_all_or_by_none():
    tensor = weft.empty(100)
    array = tensor.numpy() if weft.my_pe() == weft.n_pes() - 1 else None
    with pytest.raises(weft.ArgumentError, match=f"1 array of PE {weft.n_pes() - 1} still has"):
        weft.free(tensor)
    del array
    gc.collect()
    weft.barrier()
    weft.free(tensor)
    with pytest.raises(weft.ArgumentError, match="freed"):
        tensor.numpy()
    assert "freed" in repr(tensor)


def test_what_all_have_dropped_is_given_back():
    first = weft.empty(1 << 20, "uint8")
    place = first.data_ptr
    kept = first if weft.my_pe() == 0 else None
    del first
    gc.collect()
    second = weft.empty(1 << 20, "uint8")
    if weft.n_pes() > 1:
        assert second.data_ptr != place  # one PE has it
    del kept, second
    gc.collect()
    third = weft.empty(1 << 20, "uint8")
    assert third.data_ptr == place


def test_an_array_keeps_memory_that_its_tensor_has_let_go():
    array = weft.zeros(1000, "int64").numpy()
    gc.collect()
    array[:] = 42
    others = [weft.empty(1000, "int64") for _ in range(3)]
    for other in others:
        other.numpy()[:] = -1
    assert (array == 42).all()


def test_empty_shapes_and_odd_ones():
    assert weft.zeros((3, 0, 2)).numpy().shape == (3, 0, 2)
    assert weft.zeros(()).numpy().shape == ()
    assert weft.zeros((2, 3, 4))[1].shape == (3, 4)
    assert weft.zeros((2, 3, 4)).reshape([4, 6]).shape == (4, 6)
    assert weft.zeros(5)[-2:].nbytes == 8
    assert weft.like(np.zeros((2, 7), "int16")).dtype == "int16"
    weft.put(weft.zeros(0), np.zeros(0, "float32"), 0)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: weft.empty((-1, 2)), "no length is below 0"),
        (lambda: weft.empty((1 << 62, 1 << 62)), "larger than memory"),
        (lambda: weft.empty(3, "float7"), "dtype float7 is none of"),
        (lambda: weft.put(weft.zeros(3), np.zeros(4, "float32"), 0), "dst has 3 elements and src 4"),
        (lambda: weft.put(weft.zeros(3), np.zeros(3), 0), "dst has elements of float32, src of float64"),
        (lambda: weft.put(weft.zeros(3), np.zeros((3, 2), "float32")[:, 0], 0), "contiguous"),
        (lambda: weft.put(weft.zeros(3), "abc", 0), "argument src is a str"),
        (lambda: weft.put(np.zeros(3, "float32"), np.zeros(3, "float32"), 0), "symmetric"),
        (lambda: weft.put(weft.zeros(3), np.zeros(3, "float32"), 99), "99"),
        (lambda: weft.get(b"abc", weft.zeros(3, "uint8"), 0), "writable"),
        (lambda: weft.signal(weft.zeros(2, "uint64"), 1, 0), "it is one integer"),
        (lambda: weft.signal(weft.zeros(1, "int32"), 1, 0), "a signal is an int64 or uint64"),
        (lambda: weft.wait(weft.zeros(1, "uint32"), ">=", 1 << 32), "which is no uint32"),
        (lambda: weft.wait(weft.zeros(1, "int64"), "=>", 1), 'it is one of ==, !=, >, >=, <, <='),
        (lambda: weft.reduce(weft.zeros(3), weft.zeros(3), "avg"), "argument op"),
        (lambda: weft.reduce(weft.zeros(3, "bool"), weft.zeros(3, "bool")), "does not take elements of bool"),
        (lambda: weft.alltoall(weft.zeros(8), weft.zeros(7)), "dst has 8 elements"),
        (lambda: weft.zeros(4)[::2], "step is 1"),
        (lambda: weft.zeros(4)[4], "out of range"),
        (lambda: weft.zeros(4).reshape([3]), "has other elements"),
        (lambda: weft.peer(weft.zeros(4), -1), "PEs 0 to"),
        (lambda: weft.init(), "this process has a job"),
    ],
)
def test_what_is_wrong_is_named(call, text):
    with pytest.raises((weft.WeftError, IndexError), match=text):
        call()
    weft.barrier()


def test_streams_of_host_threads():
    """The same calls as on a GPU, each of which has run when it returns."""
    n, me = weft.n_pes(), weft.my_pe()
    box, came = weft.zeros(5), weft.zeros(1, "int64")
    weft.on_stream.put(box, np.full(5, me + 1, "float32"), (me + 1) % n, signal=came, value=1)
    weft.on_stream.wait(came, ">=", 1)
    assert (box.numpy() == (me - 1) % n + 1).all()
    back = np.zeros(5, "float32")
    weft.on_stream.get(back, box, (me + 1) % n)
    weft.on_stream.barrier()
    assert (back == me + 1).all()
    give, take = weft.zeros((n, 3), "int32"), weft.zeros((n, 3), "int32")
    give.numpy()[:] = 10 * me + np.arange(n)[:, None]
    weft.on_stream.alltoall(take, give)
    assert (take.numpy() == 10 * np.arange(n)[:, None] + me).all()
    weft.on_stream.reduce(take, give, "max")
    assert (take.numpy() == 10 * (n - 1) + np.arange(n)[:, None]).all()
    weft.on_stream.fcollect(take, give[0])
    assert (take.numpy() == 10 * np.arange(n)[:, None]).all()
    weft.on_stream.broadcast(take, give, n - 1)
    assert (take.numpy() == 10 * (n - 1) + np.arange(n)[:, None]).all()
    weft.on_stream.reducescatter(take[0], give, "min")
    assert (take.numpy()[0] == me).all()
    weft.on_stream.signal(came, 4, (me + 1) % n, op="add")
    weft.on_stream.wait(came, "==", 5)
    weft.on_stream.quiet()
    weft.on_stream.sync(weft.world())
    with pytest.raises(weft.ArgumentError, match="host threads"):
        weft.on_stream.barrier(stream=7)
    assert weft.device() == "cpu" and box.device == "cpu"
    with pytest.raises(weft.ArgumentError, match="no GPU"):
        weft.zeros(3, device="cuda")


def test_memory_that_exists_becomes_symmetric():
    n, me = weft.n_pes(), weft.my_pe()
    for _ in range(3):
        mine = np.frombuffer(mmap.mmap(-1, 2 * mmap.PAGESIZE), "int64")
        mine[:] = me
        box, came = weft.register(mine), weft.zeros(1, "int64")
        weft.put(box[1:3], np.array([7, 8 + me]), (me + 1) % n, signal=came)
        weft.wait(came, ">=", 1)
        assert mine.tolist()[:4] == [me, 7, 8 + (me - 1) % n, me] and (mine[4:] == me).all()
        weft.barrier()
        if me % 2 == 0:
            del mine  # the tensor has it still
        assert box.numpy()[1] == 7
        weft.free(box)
    with pytest.raises(weft.ArgumentError, match="page"):
        weft.register(np.zeros(5))

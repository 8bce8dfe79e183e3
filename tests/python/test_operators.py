"""Operators beside the same in double, on as many PEs as the test is started with."""

import gc

import ml_dtypes
import numpy as np
import pytest

import weft


@pytest.fixture(scope="module", autouse=True)
def job():
    weft.init()
    yield
    weft.finalize()


GUARD = 8  # elements behind what a call writes


def of(pe, shape, dtype, seed=0):
    """Small whole numbers: no type rounds, so the order of sums does not matter."""
    low = 0 if np.dtype(dtype).kind == "u" else -3
    return np.random.default_rng([pe, seed]).integers(low, 4, shape).astype(dtype)


class Out:
    """An array of NaNs, or of -1s, with a guard behind it."""

    def __init__(self, shape, dtype):
        count = int(np.prod(shape))
        self.all = np.zeros(count + GUARD, dtype)
        self.all.view("uint8")[:] = 0xFF
        self.array = self.all[:count].reshape(shape)

    def check(self, wanted):
        assert np.array_equal(self.array.astype("float64"), np.asarray(wanted, "float64"))
        assert (self.all[self.array.size :].view("uint8") == 0xFF).all()


SIZES = (0, 1, 7, 64, 1000, 4097)


@pytest.mark.parametrize("dtype", ["float32", "float16", ml_dtypes.bfloat16, "int32"])
@pytest.mark.parametrize("op", ["sum", "min", "max"])
def test_all_reduce_and_reduce_scatter(dtype, op):
    n, me = weft.n_pes(), weft.my_pe()
    fold = {"sum": np.add, "min": np.minimum, "max": np.maximum}[op]
    whole, part = weft.AllReduce(max(SIZES), dtype, op), weft.ReduceScatter(max(SIZES), dtype, op)
    for count in SIZES:
        wanted = fold.reduce([of(pe, n * count, dtype, count).astype("float64") for pe in range(n)])
        out = Out(count, dtype)
        part(out.array, of(me, n * count, dtype, count))
        out.check(wanted[me * count : (me + 1) * count])
        out = Out(count, dtype)
        whole(out.array, of(me, n * count, dtype, count)[:count])
        out.check(wanted[:count])
        whole(out.array, of(me, n * count, dtype, count)[:count].copy())  # another call writes the same
        out.check(wanted[:count])


def test_all_reduce_in_place_and_in_symmetric_memory():
    total = weft.AllReduce(100)
    tensor = weft.empty(100)
    tensor.numpy()[:] = weft.my_pe() + 1
    total(tensor, tensor)
    assert (tensor.numpy() == sum(range(1, weft.n_pes() + 1))).all()


@pytest.mark.parametrize("dtype", ["uint8", "int64", "float64", "complex64", ml_dtypes.float8_e4m3fn])
def test_what_moves_is_of_any_type(dtype):
    n, me = weft.n_pes(), weft.my_pe()
    gather, exchange, tell = (make(max(SIZES), dtype) for make in (weft.AllGather, weft.AllToAll, weft.Broadcast))
    bits = lambda array: np.ascontiguousarray(array).view("uint8")
    raw = lambda pe, count: np.random.default_rng([pe, count]).integers(0, 256, count * np.dtype(dtype).itemsize, "uint8")
    for count in SIZES:
        given = [raw(pe, n * count).view(dtype) for pe in range(n)]
        out = np.zeros(n * count, dtype)
        gather(out, given[me][:count])
        assert (bits(out) == np.concatenate([bits(each[:count]) for each in given])).all()
        exchange(out, given[me])
        assert (bits(out) == np.concatenate([bits(each[me * count : (me + 1) * count]) for each in given])).all()
        for root in range(n):
            out = np.zeros(count, dtype)
            tell(out, given[me][:count], root)
            assert (bits(out) == bits(given[root][:count])).all()


def test_all_reduce_norm():
    n, hidden, rows = weft.n_pes(), 40, 5
    norm = weft.AllReduceNorm(rows, hidden, "float32", epsilon=1e-5)
    residual, weight = of(99, (rows, hidden), "float32"), of(98, hidden, "float32")
    out, total = Out((rows, hidden), "float32"), Out((rows, hidden), "float32")
    norm(out.array, total.array, of(weft.my_pe(), (rows, hidden), "float32"), residual, weight)
    wanted = sum(of(pe, (rows, hidden), "float64") for pe in range(n)) + residual
    total.check(wanted)
    normed = wanted / np.sqrt((wanted**2).mean(1, keepdims=True) + 1e-5) * weight
    np.testing.assert_allclose(out.array, normed, rtol=1e-6)


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, "float16"])
@pytest.mark.parametrize("m, n, k", [(1, 8, 8), (6, 24, 16), (13, 40, 72)])
def test_products(dtype, m, n, k):
    size, me = weft.n_pes(), weft.my_pe()
    a = [of(pe, (m, k), dtype, 1) for pe in range(size)]
    b = [of(pe, (n, k), dtype, 2) for pe in range(size)]
    product = lambda x, y: x.astype("float64") @ y.astype("float64").T
    # As many rows as the operator is made for, and one.
    for rows in {m, 1}:
        c = Out((rows, n), dtype)
        weft.Gemm(m, n, k, dtype)(c.array, a[me][:rows], b[me])
        c.check(product(a[me][:rows], b[me]).astype(dtype))

        c, gathered = Out((size * rows, n), dtype), Out((size * rows, k), dtype)
        weft.AgGemm(m, n, k, dtype)(c.array, a[me][:rows], b[me], gathered.array)
        everything = np.concatenate([each[:rows] for each in a])
        gathered.check(everything)
        c.check(product(everything, b[me]).astype(dtype))

        # Each product is rounded, then their sum.
        total = sum(product(a[pe][:rows], b[pe]).astype(dtype).astype("float64") for pe in range(size)).astype(dtype)
        c = Out((rows, n), dtype)
        weft.GemmAr(m, n, k, dtype)(c.array, a[me][:rows], b[me])
        c.check(total)

        layer = weft.GemmRs(m, n, k, dtype)
        first = min(rows, -(-rows // size) * me)
        c = Out((layer.rows(rows), n), dtype)
        layer(c.array, a[me][:rows], b[me])
        c.check(total[first : first + layer.rows(rows)])


def test_product_of_e4m3_with_scales():
    m, n, k = 5, 136, 272
    e4m3 = ml_dtypes.float8_e4m3fn
    a, b = of(1, (m, k), e4m3), of(2, (n, k), e4m3)
    scale_a, scale_b = of(3, (m, 3), "float32") * 0.5, of(4, (2, 3), "float32") * 2
    c = Out((m, n), ml_dtypes.bfloat16)
    weft.Gemm(m, n, k, e4m3)(c.array, a, b, scale_a, scale_b)
    wide_a = a.astype("float64") * np.repeat(scale_a, 128, 1)[:, :k]
    wide_b = b.astype("float64") * np.repeat(np.repeat(scale_b, 128, 0), 128, 1)[:n, :k]
    c.check((wide_a @ wide_b.T).astype(ml_dtypes.bfloat16))
    with pytest.raises(weft.ArgumentError, match="scale_a is missing"):
        weft.Gemm(m, n, k, e4m3)(c.array, a, b)


def test_of_a_team():
    n, me = weft.n_pes(), weft.my_pe()
    ranks = list(range(n))[::-1][: max(1, n - 1)]
    team = weft.team(ranks)
    if len(ranks) == n:
        gather = weft.AllGather(3, "int64", team=team)
        out = np.zeros((n, 3), "int64")
        gather(out, np.full(3, me, "int64"))
        assert (out[:, 0] == ranks).all()


def test_memory_of_dropped_operators_is_used_again():
    for _ in range(50):
        weft.AllReduce(1 << 20)
        gc.collect()
    assert weft.AllReduce(10).workspace_bytes > 0


def test_what_is_wrong_is_said():
    total = weft.AllReduce(100, "float32")
    eight = np.zeros(8, "float32")
    with pytest.raises(weft.ArgumentError, match="elements of float64; the operator was made for float32"):
        total(eight, np.zeros(8))
    with pytest.raises(weft.ArgumentError, match="argument out has 8 elements; it has 7"):
        total(eight, eight[:7])
    with pytest.raises(weft.WeftError, match="100"):
        total(np.zeros(101, "float32"), np.zeros(101, "float32"))
    with pytest.raises(weft.ArgumentError, match="contiguous"):
        total(np.zeros(16, "float32")[::2], eight)
    with pytest.raises(weft.UnsupportedError, match="AllReduce does not take elements of float64"):
        weft.AllReduce(100, "float64")
    with pytest.raises(weft.ArgumentError, match="max_count is -1"):
        weft.AllReduce(-1)
    with pytest.raises(weft.ArgumentError, match="sum, min, max"):
        weft.AllReduce(100, op="prod")
    layer = weft.Gemm(4, 8, 16, "float16")
    half = lambda *shape: np.zeros(shape, "float16")
    with pytest.raises(weft.ArgumentError, match=r"argument b has shape \(8, 8\); it has \(8, 16\)"):
        layer(half(4, 8), half(4, 16), half(8, 8))
    with pytest.raises(weft.ArgumentError, match="5 rows; the operator was made for up to 4"):
        layer(half(5, 8), half(5, 16), half(8, 16))
    with pytest.raises(weft.ArgumentError, match="float8_e4m3fn alone"):
        layer(half(4, 8), half(4, 16), half(8, 16), np.zeros((4, 1), "float32"), np.zeros((1, 1), "float32"))
    assert "AllReduce" in total.describe() and total.dtype == "float32"


def test_calls_after_the_end_are_refused():
    job = weft.join(unique_id=weft.unique_id(), rank=0, size=1)
    with weft.use(job):
        total, layer = weft.AllReduce(10), weft.GemmRs(4, 8, 8)
    weft.finalize(job)
    with pytest.raises(weft.ArgumentError, match="ended"):
        total(np.zeros(3, "float32"), np.zeros(3, "float32"))
    with pytest.raises(weft.ArgumentError, match="ended"):
        layer.rows(4)

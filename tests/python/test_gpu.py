"""On GPUs, beside PyTorch: tensors, streams, graphs and operators, on as many PEs as the test is started with, which
may share a GPU. Skipped where there is none."""

import gc
import threading

import pytest

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("there is no GPU", allow_module_level=True)

import weft  # noqa: E402
import weft.torch  # noqa: E402
from weft import on_stream  # noqa: E402


@pytest.fixture(scope="module", autouse=True)
def job():
    torch.cuda.set_device(0)
    weft.init()  # finds that the program uses a GPU
    yield
    weft.finalize()


def of(pe, shape, dtype=torch.float32, seed=0):
    """Small whole numbers: no type rounds, so the order of sums does not matter."""
    source = torch.Generator().manual_seed(1000 * pe + seed)
    return torch.randint(-3, 4, shape if isinstance(shape, tuple) else (shape,), generator=source).to(dtype)


def poisoned(shape, dtype):
    out = torch.empty(shape, dtype=dtype, device="cuda")
    out.view(torch.uint8).fill_(0xFF)
    return out


def same(got, wanted):
    assert torch.equal(got.cpu().double(), wanted.double())


def right():
    return (weft.my_pe() + 1) % weft.n_pes()


def left():
    return (weft.my_pe() - 1) % weft.n_pes()


def test_the_job_has_torchs_gpu():
    assert weft.device() == f"cuda:{torch.cuda.current_device()}"


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float8_e4m3fn, torch.int64, torch.complex64, torch.bool])
def test_tensors_are_torchs_without_a_copy(dtype):
    tensor = weft.zeros((4, 6), dtype)
    array = tensor.torch()
    assert array.is_cuda and array.dtype == dtype and array.data_ptr() == tensor.data_ptr
    assert tensor.device == weft.device() and weft.like(array).device == tensor.device
    assert weft.like(torch.zeros(3)).device == "cpu"
    assert (array.view(torch.uint8) == 0).all()
    assert weft.zeros(3, device="cpu").torch().device.type == "cpu"
    with pytest.raises(weft.ArgumentError, match="array"):
        weft.free(tensor)
    del array
    weft.free(tensor)


def test_a_peers_memory_is_a_tensor():
    box = weft.zeros(4)
    weft.peer(box, right()).__dlpack__  # it speaks DLPack
    torch.from_dlpack(weft.peer(box, right())).fill_(weft.my_pe() + 1)
    on_stream.barrier()
    assert (box.torch() == left() + 1).all()
    on_stream.barrier()


# On the default stream, which is the legacy one, and on one that does not wait for it.
@pytest.mark.parametrize("is_side", [False, True])
def test_puts_and_waits_are_in_the_order_of_torchs_stream(is_side):
    count = 1 << 20
    box, came = weft.zeros(count), weft.zeros(1, "int64")
    torch.cuda.synchronize()
    weft.barrier()
    with torch.cuda.stream(torch.cuda.Stream() if is_side else torch.cuda.default_stream()):
        for turn in range(1, 6):
            torch.cuda._sleep(10_000_000)  # what runs before the put takes its time
            mine = torch.full((count,), float(10 * weft.my_pe() + turn), device="cuda")
            on_stream.put(box, mine, right(), signal=came, value=turn)
            on_stream.wait(came, ">=", turn)
            got = box.torch().clone()
            on_stream.barrier()
            assert (got == 10 * left() + turn).all()
    back = torch.empty(count, device="cuda")
    on_stream.get(back, box, right(), stream=torch.cuda.current_stream())
    on_stream.quiet()
    assert (back == 10 * weft.my_pe() + 5).all()
    on_stream.barrier()
    on_stream.signal(came[:1], 7, right(), op="add", stream=torch.cuda.current_stream().cuda_stream)
    on_stream.wait(came, "==", 12)
    torch.cuda.synchronize()


def test_collectives_on_a_stream():
    n, me, count = weft.n_pes(), weft.my_pe(), 1000
    give, take = weft.zeros(n * count), weft.zeros(n * count)
    mine = [of(pe, n * count) for pe in range(n)]
    give.torch().copy_(mine[me])
    on_stream.reduce(take, give, "sum")
    same(take.torch(), sum(mine))
    on_stream.alltoall(take, give)
    same(take.torch(), torch.cat([each[me * count : (me + 1) * count] for each in mine]))
    on_stream.fcollect(take, give[:count])
    same(take.torch(), torch.cat([each[:count] for each in mine]))
    on_stream.broadcast(take, give, n - 1)
    same(take.torch(), mine[n - 1])
    on_stream.reducescatter(take[:count], give, "max")
    wanted = torch.stack(mine).max(0).values
    same(take[:count].torch(), wanted[me * count : (me + 1) * count])
    on_stream.sync(weft.world())
    torch.cuda.synchronize()


SIZES = (0, 1, 7, 1000, 4097)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.int32])
def test_collective_operators(dtype):
    n, me = weft.n_pes(), weft.my_pe()
    most = n * max(SIZES)
    whole, part = weft.AllReduce(most, dtype), weft.ReduceScatter(most, dtype)
    gather, exchange, tell = weft.AllGather(most, dtype), weft.AllToAll(most, dtype), weft.Broadcast(most, dtype)
    for count in SIZES:
        mine = [of(pe, n * count, dtype, count) for pe in range(n)]
        total = sum(each.double() for each in mine)
        inp, block = mine[me].cuda(), slice(me * count, (me + 1) * count)
        out, small, all_of = (poisoned(size, dtype) for size in (n * count, count, n * n * count))
        whole(out, inp)
        same(out, total)
        part(small, inp)
        same(small, total[block])
        gather(all_of, inp)
        same(all_of, torch.cat(mine))
        exchange(out, inp)
        same(out, torch.cat([each[block] for each in mine]))
        tell(out, inp, n - 1)
        same(out, mine[n - 1])


def test_all_reduce_norm():
    n, hidden, rows = weft.n_pes(), 512, 5
    norm = weft.AllReduceNorm(rows, hidden, torch.bfloat16, epsilon=1e-5)
    mine = [of(pe, (rows, hidden), torch.bfloat16) for pe in range(n)]
    residual, weight = of(99, (rows, hidden), torch.bfloat16), of(98, hidden, torch.bfloat16)
    out, total = (poisoned((rows, hidden), torch.bfloat16) for _ in range(2))
    norm(out, total, mine[weft.my_pe()].cuda(), residual.cuda(), weight.cuda())
    wanted = sum(each.double() for each in mine) + residual.double()
    same(total, wanted)
    normed = wanted / (wanted.square().mean(1, keepdim=True) + 1e-5).sqrt() * weight.double()
    torch.testing.assert_close(out.cpu().double(), normed, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("m, n, k", [(1, 64, 128), (100, 192, 256), (257, 320, 72)])
def test_products(m, n, k):
    size, me, dtype = weft.n_pes(), weft.my_pe(), torch.bfloat16
    a = [of(pe, (m, k), dtype, 1) for pe in range(size)]
    b = [of(pe, (n, k), dtype, 2) for pe in range(size)]
    weight = torch.nn.Parameter(b[me].cuda())  # requires a gradient
    rows = a[me].cuda()
    c = poisoned((m, n), dtype)
    weft.Gemm(m, n, k)(c, rows, weight)
    same(c, (a[me].double() @ b[me].double().T).to(dtype))
    c, gathered = poisoned((size * m, n), dtype), poisoned((size * m, k), dtype)
    weft.AgGemm(m, n, k)(c, rows, weight, gathered)
    same(gathered, torch.cat(a))
    same(c, (torch.cat(a).double() @ b[me].double().T).to(dtype))
    exact = sum(x.double() @ y.double().T for x, y in zip(a, b))
    c = poisoned((m, n), dtype)
    weft.GemmAr(m, n, k)(c, rows, weight)
    torch.testing.assert_close(c.cpu().double(), exact, rtol=2e-2, atol=1.0)
    layer = weft.GemmRs(m, n, k)
    first = min(m, -(-m // size) * me)
    c = poisoned((layer.rows(m), n), dtype)
    layer(c, rows, weight)
    torch.testing.assert_close(c.cpu().double(), exact[first : first + layer.rows(m)], rtol=2e-2, atol=1.0)


def test_dlpack_honours_streams():
    """A consumer's stream is behind the producer's, which is torch's current one."""
    box = weft.zeros(1 << 20)
    torch.cuda.synchronize()
    with torch.cuda.stream(torch.cuda.Stream()):
        torch.cuda._sleep(50_000_000)
        box.torch().fill_(7)
        consumer = torch.cuda.Stream()
        box.__dlpack__(stream=consumer.cuda_stream)
        with torch.cuda.stream(consumer):
            got = torch.from_dlpack(box).clone()
    torch.cuda.synchronize()
    assert (got == 7).all()


def test_graphs_replay_operators_and_puts():
    n = weft.n_pes()
    total, box, came = weft.AllReduce(4096), weft.zeros(64), weft.zeros(1, "int64")
    inp, out = torch.zeros(4096, device="cuda"), torch.zeros(4096, device="cuda")
    total(out, inp)
    torch.cuda.synchronize()
    weft.barrier()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        inp.add_(1)
        total(out, inp)
        on_stream.put(box, out[:64], right(), signal=came, value=1, op="add")
        on_stream.barrier()
    for turn in range(1, 5):
        graph.replay()
        torch.cuda.synchronize()
        assert (out == n * turn).all() and (box.torch() == n * turn).all()
        assert int(came.torch()) == turn


def test_an_operator_made_while_a_graph_is_captured_says_what_to_do():
    kept = weft.zeros(4)
    graph, x = torch.cuda.CUDAGraph(), torch.zeros(8, device="cuda")
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        x.add_(1)
        for make in (lambda: weft.AllReduce(16), lambda: weft.all_reduce(x[:3].int()), lambda: weft.zeros(4), lambda: weft.free(kept)):
            with pytest.raises(weft.WeftError, match="warm up"):
                make()
    graph.replay()
    torch.cuda.synchronize()
    assert (x == 1).all()


def test_another_thread_has_the_jobs_gpu():
    total, problems = weft.AllReduce(100), []
    inp, out = torch.ones(100, device="cuda"), torch.zeros(100, device="cuda")

    def body():
        try:
            total(out, inp)
            torch.cuda.synchronize()
            assert (out == weft.n_pes()).all()
        except BaseException as problem:
            problems.append(problem)

    thread = threading.Thread(target=body)
    thread.start()
    thread.join()
    assert not problems


def test_memory_in_use_is_not_given_back_early():
    """Dropped while a kernel still reads it; what is made next has the same place."""
    for _ in range(5):
        tensor = weft.zeros(1 << 20)
        tensor.torch().fill_(weft.my_pe())
        torch.cuda._sleep(20_000_000)
        copy = tensor.torch() + 1
        del tensor
        gc.collect()
        other = weft.zeros(1 << 20)
        other.torch().fill_(-5)
        assert (copy == weft.my_pe() + 1).all()
        del other


def test_a_tensor_that_exists_becomes_symmetric():
    mine = torch.full((1000,), -1.0, device="cuda")
    box, came = weft.register(mine), weft.zeros(1, "int64")
    assert box.data_ptr == mine.data_ptr() and box.device == weft.device()
    on_stream.put(box[100:], torch.full((900,), float(weft.my_pe()), device="cuda"), right(), signal=came)
    on_stream.wait(came, ">=", 1)
    assert (mine[100:] == left()).all() and (mine[:100] == -1).all()
    on_stream.barrier()
    weft.free(box)
    again = weft.register(mine[:500])  # contents stay
    assert (again.torch()[100:] == left()).all()


def test_a_pool_gives_torch_symmetric_memory():
    pool = weft.torch.MemPool(256 << 20)
    with pool.use():
        first = torch.zeros(1 << 20, device="cuda")
        second = torch.zeros(3, 5, dtype=torch.bfloat16, device="cuda")
        if weft.my_pe() == 0 and weft.n_pes() > 1:
            apart = torch.zeros(1 << 22, device="cuda")
        third = torch.zeros(1 << 22, device="cuda")
    box, small, came = pool.symmetric(first), pool.symmetric(second), weft.zeros(1, "int64")
    assert box.data_ptr == first.data_ptr() and small.shape == (3, 5)
    on_stream.put(box, torch.full((1 << 20,), 1.0 + weft.my_pe(), device="cuda"), right(), signal=came)
    on_stream.wait(came, ">=", 1)
    assert (first == 1 + left()).all()
    on_stream.barrier()
    if weft.n_pes() > 1:
        with pytest.raises(weft.ArgumentError, match="PEs have allocated differently: the tensor lies at offsets"):
            pool.symmetric(third)
    with pytest.raises(weft.ArgumentError, match="not of this pool"):
        pool.symmetric(torch.zeros(8, device="cuda"))
    with pool.use(), pytest.raises(torch.OutOfMemoryError):
        torch.zeros(1 << 30, device="cuda")
    torch.cuda.synchronize()
    weft.barrier()


def test_what_is_wrong_is_said():
    total = weft.AllReduce(100)
    eight = torch.zeros(8, device="cuda")
    with pytest.raises(weft.ArgumentError, match="argument inp is host memory"):
        total(eight, torch.zeros(8))
    with pytest.raises(weft.ArgumentError, match="not contiguous"):
        total(torch.zeros(8, 2, device="cuda")[:, 0], eight)
    with pytest.raises(weft.ArgumentError, match="float64; the operator was made for float32"):
        total(eight, eight.double())
    with pytest.raises(weft.ArgumentError, match="argument stream is a str"):
        total(eight, eight, stream="fast")
    with pytest.raises(weft.ArgumentError, match="weft.on_stream has this call"):
        weft.put(weft.zeros(8), eight, 0)
    with pytest.raises(weft.ArgumentError, match="on a stream of the GPU take its own"):
        on_stream.put(weft.zeros(8), torch.zeros(8), 0)
    with pytest.raises(weft.WeftError, match="symmetric"):
        on_stream.put(torch.zeros(8, device="cuda"), eight, 0)
    with pytest.raises(weft.ArgumentError, match="tensor.torch"):
        weft.zeros(8).numpy()
    with pytest.raises(weft.ArgumentError, match='"cuda:77"; the job has'):
        weft.zeros(8, device="cuda:77")
    with pytest.raises(weft.ArgumentError, match="device is"):
        weft.join(device="tpu", unique_id=weft.unique_id(), rank=0, size=1)


def test_a_job_without_a_gpu_beside_one():
    job = weft.join(device="cpu", unique_id=weft.unique_id(), rank=0, size=1)
    with weft.use(job):
        assert weft.device() == "cpu"
        out = torch.zeros(5)
        weft.AllReduce(5)(out, torch.ones(5))
        assert (out == 1).all()
        with pytest.raises(weft.ArgumentError, match="this job has no GPU"):
            weft.zeros(3, device="cuda")
        with pytest.raises(weft.ArgumentError, match="host threads"):
            weft.AllReduce(5)(out.cuda(), out.cuda())
    weft.finalize(job)


def test_threads_that_share_a_gpu_are_pes():
    import weft.testing

    def body():
        with torch.cuda.stream(torch.cuda.Stream()):
            torch.zeros(1, device="cuda").add_(1)
            torch.cuda.current_stream().synchronize()
            weft.barrier()
            total, out = weft.AllReduce(1000), torch.zeros(1000, device="cuda")
            total(out, torch.full((1000,), weft.my_pe() + 1.0, device="cuda"))
            torch.cuda.current_stream().synchronize()
            return float(out.sum())

    assert weft.testing.run(2, body, device="cuda") == [3000.0, 3000.0]

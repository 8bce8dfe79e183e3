"""torch.ops.weft.* beside the same in torch, on as many PEs as the test is started with; on the GPU where the job has
one."""

import pytest

torch = pytest.importorskip("torch")

import weft  # noqa: E402
import weft.torch  # noqa: E402

ops = torch.ops.weft


@pytest.fixture(scope="module", autouse=True)
def job():
    weft.init(device="cuda" if torch.cuda.is_available() else "cpu")
    yield
    weft.finalize()


def of(pe, *shape, dtype=torch.float32, seed=0, low=-3):
    """Small whole numbers: no type rounds, so the order of sums does not matter."""
    source = torch.Generator().manual_seed(1000 * pe + seed)
    return torch.randint(low, 4, shape, generator=source).to(dtype).to(weft.device())


def all_of(*shape, **how):
    return [of(pe, *shape, **how) for pe in range(weft.n_pes())]


def same(got, wanted):
    assert got.dtype == wanted.dtype or wanted.dtype == torch.float64
    assert torch.equal(got.detach().double(), wanted.detach().double())


@pytest.mark.parametrize("rows", [0, 1, 5])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int32])
def test_collectives(rows, dtype):
    n, me = weft.n_pes(), weft.my_pe()
    mine = all_of(n * rows, 3, dtype=dtype)
    block = slice(me * rows, (me + 1) * rows)
    total = sum(each.double() for each in mine)
    same(ops.all_reduce(mine[me]), total)
    same(weft.all_reduce(mine[me], "max"), torch.stack(mine).amax(0) if rows else mine[me])
    same(ops.all_gather(mine[me]), torch.cat(mine))
    same(ops.reduce_scatter(mine[me]), total[block])
    same(ops.all_to_all(mine[me]), torch.cat([each[block] for each in mine]))
    same(ops.broadcast(mine[me], n - 1), mine[n - 1])
    out = torch.full_like(mine[me], 77)
    ops.all_reduce.out(mine[me], "sum", "", out=out)
    same(out, total)
    same(weft.all_reduce(out, out=out), n * total)
    gathered = torch.empty(n * n * rows, 3, dtype=dtype, device=out.device)
    ops.all_gather.out(mine[me], "", out=gathered)
    same(gathered, torch.cat(mine))


def test_all_reduce_norm():
    n, me = weft.n_pes(), weft.my_pe()
    mine, residual, weight = all_of(5, 64), of(90, 5, 64), of(91, 64, low=1)
    out, total = ops.all_reduce_norm(mine[me], residual, weight, 1e-5)
    wanted = sum(mine) + residual
    same(total, wanted)
    torch.testing.assert_close(out, torch.nn.functional.rms_norm(wanted, (64,), weight, 1e-5))
    ops.all_reduce_norm.out(mine[me], residual, weight, 1e-5, "", out=out, residual_out=residual)
    same(residual, wanted)


def test_products():
    n, me, dtype = weft.n_pes(), weft.my_pe(), torch.bfloat16
    a, b, c = all_of(2 * n, 4, 16, dtype=dtype), all_of(24, 16, dtype=dtype, seed=1), all_of(8, 16, dtype=dtype, seed=2)
    wide = lambda x, y: (x.double() @ y.double().T)
    same(ops.gemm(a[me], b[me]), wide(a[me], b[me]).to(dtype))
    everything = torch.cat(a)
    for return_a in (True, False):
        rows, (first, second) = ops.ag_gemm(a[me], [b[me], c[me]], 0, "", return_a=return_a)
        same(first, wide(everything, b[me]).to(dtype))
        same(second, wide(everything, c[me]).to(dtype))
        same(rows, everything if return_a else rows[:0])
    exact = sum(wide(x, y) for x, y in zip(a, b))
    torch.testing.assert_close(ops.gemm_ar(a[me], b[me]).double(), exact, rtol=1e-2, atol=1.0)
    got = ops.gemm_rs(a[me], b[me], "sum", 0, "")
    torch.testing.assert_close(got.double(), exact[2 * me : 2 * me + 2], rtol=1e-2, atol=1.0)


def test_product_of_e4m3_with_scales():
    m, n, k = 5, 136, 272
    a, b = of(1, m, k).to(torch.float8_e4m3fn), of(2, n, k).to(torch.float8_e4m3fn)
    scale_a, scale_b = of(3, m, 3) * 0.5, of(4, 2, 3) * 2
    wide = lambda x, scale, rows: x.double() * scale.double().repeat_interleave(128, 1)[:, :k].repeat_interleave(rows, 0)[: len(x)]
    wanted = wide(a, scale_a, 1) @ wide(b, scale_b, 128).T
    got = ops.gemm(a, b, scale_a, scale_b)
    assert got.dtype == torch.bfloat16
    torch.testing.assert_close(got.double(), wanted, rtol=1e-2, atol=1.0)


def gradients(run, *leaves):
    fresh = [leaf.detach().clone().requires_grad_() for leaf in leaves]
    torch.manual_seed(weft.my_pe())
    outs = run(*fresh)
    for out in outs if isinstance(outs, (tuple, list)) else [outs]:
        out.backward(of(50 + weft.my_pe(), *out.shape, dtype=out.dtype))
    return [leaf.grad for leaf in fresh]


def test_gradients_of_products():
    n, me, dtype = weft.n_pes(), weft.my_pe(), torch.bfloat16
    a, b = all_of(4 * n, 16, dtype=dtype), all_of(24, 16, dtype=dtype, seed=1)
    close = lambda got, wanted: torch.testing.assert_close(got.double(), wanted.double(), rtol=1e-2, atol=2.0)
    grads = [of(50 + pe, 4 * n * n, 24, dtype=dtype).double() for pe in range(n)]
    for return_a in (True, False):
        of_a, of_b = gradients(lambda x, y: ops.ag_gemm(x, [y], 0, "", return_a=return_a)[1][0], a[me], b[me])
        mine = slice(4 * n * me, 4 * n * (me + 1))
        close(of_a, sum(grad @ y.double() for grad, y in zip(grads, b))[mine])
        close(of_b, grads[me].T @ torch.cat(a).double())
    of_a, of_b = gradients(lambda x, y: ops.gemm_rs(x, y, "sum", 0, ""), a[me], b[me])
    grad = torch.cat([of(50 + pe, 4, 24, dtype=dtype).double() for pe in range(n)])
    close(of_a, grad @ b[me].double())
    close(of_b, grad.T @ a[me].double())
    # All members have one gradient.
    x, y = a[me].clone().requires_grad_(), b[me].clone().requires_grad_()
    grad = of(7, 4 * n, 24, dtype=dtype)
    ops.gemm_ar(x, y).backward(grad)
    close(x.grad, grad.double() @ y.double())
    close(y.grad, grad.double().T @ x.double())
    of_a, of_b = gradients(ops.gemm, a[me], b[me])
    grad = of(50 + me, 4 * n, 24, dtype=dtype).double()
    close(of_a, grad @ b[me].double())
    close(of_b, grad.T @ a[me].double())


def test_gradients_of_collectives():
    n, me = weft.n_pes(), weft.my_pe()
    mine = all_of(2 * n, 3)
    whole = [of(50 + pe, 2 * n, 3) for pe in range(n)]
    same(gradients(ops.all_reduce, mine[me])[0], sum(whole))
    same(gradients(weft.all_reduce, mine[me])[0], sum(whole))
    same(gradients(ops.all_to_all, mine[me])[0], torch.cat([each[2 * me : 2 * me + 2] for each in whole]))
    same(gradients(ops.reduce_scatter, mine[me])[0], torch.cat([of(50 + pe, 2, 3) for pe in range(n)]))
    longer = sum(of(50 + pe, 2 * n * n, 3) for pe in range(n))
    same(gradients(ops.all_gather, mine[me])[0], longer[2 * n * me : 2 * n * (me + 1)])


def test_nothing_is_saved_where_no_gradient_is_wanted():
    a, b = of(0, weft.n_pes(), 16, dtype=torch.bfloat16), of(1, 8, 16, dtype=torch.bfloat16)
    weight = torch.nn.Parameter(b)
    saved = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: saved.append(t) or t, lambda t: t):
        with torch.no_grad():
            ops.ag_gemm(a, [weight], 0, "")
        assert saved == []
        ops.ag_gemm(a, [weight], 0, "", return_a=False)
        assert any(each.shape == a.shape for each in saved)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_compiled_programs(backend):
    n, me = weft.n_pes(), weft.my_pe()
    a, b = all_of(2 * n, 16, dtype=torch.bfloat16), all_of(8, 16, dtype=torch.bfloat16, seed=1)

    def layer(x, y):
        rows = ops.ag_gemm(x, [y], 0, "")[1][0]
        return weft.all_reduce(rows.float()) + 1

    wanted = layer(a[me], b[me])
    compiled = torch.compile(layer, backend=backend, fullgraph=True)
    same(compiled(a[me], b[me]), wanted)
    x = a[me].clone().requires_grad_()
    compiled(x, b[me]).sum().backward()
    y = a[me].clone().requires_grad_()
    layer(y, b[me]).sum().backward()
    same(x.grad, y.grad)


# Torch's own checks of an operator: its schema, its fake kernel, its gradient. All PEs make the same calls in them,
# since all have the same shapes.
CHECKS = ("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")


def test_opcheck():
    n = weft.n_pes()
    x = of(0, 2 * n, 16)
    a, b = of(0, 2 * n, 16, dtype=torch.bfloat16), of(1, 8, 16, dtype=torch.bfloat16)
    check = lambda op, *args, **kwargs: torch.library.opcheck(op, args, kwargs, test_utils=CHECKS)
    grad = lambda t: t.clone().requires_grad_()
    for each in (x, grad(x)):
        check(ops.all_reduce.default, each, "sum", "")
        check(ops.all_gather.default, each, "")
        check(ops.reduce_scatter.default, each, "sum", "")
        check(ops.all_to_all.default, each, "")
    check(ops.broadcast.default, x, 0, "")
    check(ops.all_reduce.out, x, "sum", "", out=torch.empty_like(x))
    check(ops.all_gather.out, x, "", out=x.new_empty(2 * n * n, 16))
    check(ops.reduce_scatter.out, x, "sum", "", out=x.new_empty(2, 16))
    check(ops.all_to_all.out, x, "", out=torch.empty_like(x))
    check(ops.broadcast.out, x, 0, "", out=torch.empty_like(x))
    check(ops.all_reduce_norm.default, x, x.clone(), x[0].clone(), 1e-6, "")
    check(ops.all_reduce_norm.out, x, x.clone(), x[0].clone(), 1e-6, "", out=x.clone(), residual_out=x.clone())
    for p, q in ((a, b), (grad(a), b), (a, grad(b)), (grad(a), grad(b))):
        check(ops.gemm.default, p, q)
        check(ops.gemm_ar.default, p, q, "")
        check(ops.gemm_rs.default, p, q, "sum", 0, "")
        check(ops.ag_gemm.default, p, [q], 0, "")
    check(ops.ag_gemm.default, a, [b, b.clone()], 0, "", return_a=False)
    check(ops.gemm.out, a, b, None, None, out=a.new_empty(2 * n, 8))
    check(ops.gemm_ar.out, a, b, "", out=a.new_empty(2 * n, 8))
    check(ops.gemm_rs.out, a, b, "sum", 0, "", out=a.new_empty(2, 8))


def test_few_operators_serve_all_sizes():
    for count in (1, 100, 65536, 65537, 100000, 131072):
        x = torch.ones(count, device=weft.device())
        same(weft.all_reduce(x), x * weft.n_pes())
    numbers = [key for key in weft._made._of_jobs[weft.current()] if key[0] == "all_reduce" and key[2] == torch.float32]
    assert {key[1] for key in numbers if key[3] == "sum" and key[4] is None} <= {65536, 131072}


def test_what_is_wrong_is_said():
    n = weft.n_pes()
    x = torch.zeros(3 * n + 1, 4, device=weft.device())
    if n > 1:
        with pytest.raises(weft.ArgumentError, match=f"is no {n} blocks"):
            ops.reduce_scatter(x)
    a, b = (torch.zeros(2 * n, 16, dtype=torch.bfloat16, device=weft.device()) for _ in range(2))
    with pytest.raises(weft.ArgumentError, match="gather_dim is 1"):
        ops.ag_gemm(a, [b], 1, "")
    with pytest.raises(weft.ArgumentError, match='reduce_op is "avg"'):
        ops.gemm_rs(a, b, "avg", 0, "")
    with pytest.raises(weft.ArgumentError, match='op "max" has no gradient'):
        ops.all_reduce(x.requires_grad_(), "max")

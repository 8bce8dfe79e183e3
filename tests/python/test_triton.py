"""weft.triton without a GPU: kernels compile for sm_90 and gfx942, and what is wrong is said."""

import re

import pytest

triton = pytest.importorskip("triton")

import triton_kernels as kernels  # noqa: E402
from triton.backends.compiler import GPUTarget  # noqa: E402
from triton.compiler import ASTSource  # noqa: E402

import weft.triton as wt  # noqa: E402
from weft._bitcode import FUNCTIONS  # noqa: E402

TARGETS = {"sm_90": GPUTarget("cuda", 90, 32), "gfx942": GPUTarget("hip", "gfx942", 64)}


@pytest.fixture(autouse=True)
def no_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))


def compiled(kernel, target, signature, constants=None, linked=True, aligned=(), ptx=None):
    place = {name: (index,) for index, name in enumerate(kernel.arg_names)}
    constants = constants or {}
    if triton.__version__ < "3.3":
        hints = {place[name][0]: 16 for name in aligned}
        attrs = triton.backends.compiler.AttrsDescriptor.from_hints(hints)
        source = ASTSource(fn=kernel, signature=signature, constants=constants, attrs=attrs)
    else:
        source = ASTSource(
            fn=kernel,
            signature={name: "constexpr" if name in constants else signature[name] for name in kernel.arg_names},
            constexprs=constants,
            attrs={place[name]: [["tt.divisibility", 16]] for name in aligned},
        )
    target = TARGETS[target]
    library = wt.bitcode(target.backend, target.arch, ptx=wt._ptx_version(target, ptx))
    libraries = {"extern_libs": {"weft": library}} if linked else {}
    if ptx is not None:
        libraries["ptx_version"] = ptx
    return triton.compile(source, target=target, options=libraries).asm


QUEUE = {"inp": "*fp32", "out": "*fp32", "count": "i32", "slots": "*fp32", "signals": "*u64"}
EXCHANGE = {"ctx": "i64", "inbox": "*bf16", "words": "*u64", "counts": "*i32", "rows": "*bf16", "starts": "*i32", "turn": "i32"}
PASS = {"ctx": "i64", "box": "*fp32", "came": "*u64", "data": "*fp32", "bytes": "i64", "turn": "i64"}
MOVE = {"out": "*i32", "dst": "*fp32", "src": "*fp32", "words": "*u64", "small": "*i32", "team": "i64"}


@pytest.mark.parametrize("target", TARGETS)
def test_kernels_compile(target):
    binary = "cubin" if target == "sm_90" else "hsaco"
    assert compiled(kernels.pass_on, target, PASS)[binary]
    slots = {"SLOTS": 32, "WIDTH": 128, "PRODUCERS": 2, "CONSUMERS": 2}
    assert compiled(kernels.queue, target, QUEUE, slots)[binary]
    assert compiled(kernels.exchange, target, EXCHANGE, {"CAPACITY": 128, "WIDTH": 1024, "ROW_BYTES": 2048})[binary]


def test_waits_end_by_a_fence_where_ptx_has_one():
    assert "fence.acquire" not in compiled(kernels.pass_on, "sm_90", PASS, ptx=80)["ptx"]
    newest = compiled(kernels.pass_on, "sm_90", PASS)["ptx"]
    assert ("fence.acquire" in newest) == (wt._ptx_version(TARGETS["sm_90"], None) >= 86)


def test_names_of_nvshmem_compile():
    made = compiled(kernels.move_by_shmem_names, "sm_90", MOVE, {"bytes": 512})
    assert made["cubin"]
    # A wait empties the L1 cache; constant memory has one of its own.
    assert len(re.findall(r"ld\.const.*\[weft_current_device_context", made["ptx"])) > 4


def sources(ptx, register):
    """The registers from which one is computed, and itself."""
    made_of = {}
    for line in ptx.splitlines():
        registers = re.findall(r"%\w+", line.partition("//")[0].partition("[")[0] if " ld." in line else line)
        if registers:
            made_of.setdefault(registers[0], set()).update(registers[1:])
    found, left = set(), [register]
    while left:
        each = left.pop()
        if each not in found:
            found.add(each)
            left += made_of.get(each, ())
    return found


@pytest.mark.parametrize("stages", [1, 2, 3, 4])
def test_loads_stay_wide_and_behind_their_wait(stages):
    """Each address comes from the zero that consume_token() makes of its token, so no load can go before its wait."""
    signature = {"out": "*fp32", "rows": "*fp32", "signals": "*u64", "count": "i32"}
    aligned = ["out", "rows", "signals"]
    ptx = compiled(
        kernels.rows_behind_their_signals, "sm_90", signature, {"WIDTH": 512, "STAGES": stages}, aligned=aligned
    )["ptx"]
    body = ptx[ptx.index(".entry") :]
    zeros = set(re.findall(r"mov\.u32 (%\w+), 0;", body))  # LLVM's own have a tab
    wide = re.findall(r"ld\.global\.v4\.b32 \{.*\}, \[ (%\w+)", body)
    wide += re.findall(r"cp\.async\.c[ag]\.shared\.global \[ %\w+ \+ \d+ \], \[ (%\w+) \+ \d+ \], 0x10", body)
    assert zeros and wide and all(sources(body, address) & zeros for address in wide)
    assert not re.search(r"ld\.global\.b(8|16)\b", body)
    assert "fence.proxy.async.global" in body  # for loads by TMA


def test_every_name_of_nvshmem_is_there():
    scopes = ("", "_warp", "_block")
    names = ["my_pe", "n_pes", "team_my_pe", "team_n_pes", "team_translate_pe", "int_p", "remote_ptr", "quiet", "fence"]
    names += ["signal_op", "signal_wait_until", "ulong_put_signal"]
    names += [f"{name}{scope}" for name in ("barrier_all", "barrier", "sync_all", "team_sync") for scope in scopes]
    names += [f"{name}{nbi}{scope}" for name in ("getmem", "putmem", "putmem_signal", "putmem_rma", "putmem_signal_rma")
              for nbi in ("", "_nbi") for scope in scopes]  # fmt: skip
    names += [f"{name}{scope}" for name in ("broadcastmem", "broadcast", "fcollectmem", "fcollect") for scope in scopes]
    for name in names:
        assert callable(getattr(wt.libshmem_device, name)), name
    assert wt.libshmem_device.NVSHMEM_CMP_GE.value == 5 and wt.libshmem_device.NVSHMEM_SIGNAL_SET.value == 9


def test_every_function_of_the_table_is_there():
    assert len(FUNCTIONS) > 100
    for name in FUNCTIONS:
        assert callable(getattr(wt.device, name))


def test_a_kernel_without_the_library_is_told_so():
    with pytest.raises(Exception) as raised:
        compiled(kernels.without_the_library, "sm_90", {"out": "*i32"}, linked=False)
    texts, problem = "", raised.value
    while problem is not None:
        texts, problem = texts + str(problem), problem.__cause__
    assert "decorate the kernel with weft.triton.jit" in texts


def test_an_unknown_gpu_is_told_so():
    with pytest.raises(NotImplementedError, match="gfx1100"):
        wt.bitcode("hip", "gfx1100")

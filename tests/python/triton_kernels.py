"""Kernels on weft.triton that the tests compile and, where there is a GPU, run. A file of its own, since Triton reads
their source."""

import sys
from pathlib import Path

import triton
import triton.language as tl
from weft.triton import device, jit, language as dl, libshmem_device

tutorials = Path(__file__).resolve().parents[2] / "docs" / "tutorials" / "python"
sys.path += [str(tutorials / "01-notify-and-wait"), str(tutorials / "04-all-to-all")]
from all_to_all import exchange  # noqa: E402, F401
from notify_and_wait import queue  # noqa: E402, F401


@jit
def pass_on(ctx, box, came, data, bytes, turn):
    """By the table's functions, with the context as an argument: data and a signal to the right, and a wait for those
    from the left."""
    right = (device.my_pe(ctx) + 1) % device.n_pes(ctx)
    device.put_signal_set_block(ctx, box, data, bytes, came, turn, right)
    device.wait_until_u64_block(ctx, came, 3, turn)


@jit
def move_by_shmem_names(out, dst, src, words, small, team, bytes: tl.constexpr):
    """libshmem_device, whose calls the numbers that come back tell of."""
    me, n = libshmem_device.my_pe(), libshmem_device.n_pes()
    right, left = (me + 1) % n, (me + n - 1) % n
    libshmem_device.putmem_nbi_block(dst, src, bytes, right)
    libshmem_device.fence()
    if dl.tid(0) == 0:
        libshmem_device.signal_op(words, 5, libshmem_device.NVSHMEM_SIGNAL_SET, right)
        libshmem_device.signal_wait_until(words, libshmem_device.NVSHMEM_CMP_GE, 5)
    libshmem_device.barrier_all_block()
    libshmem_device.putmem_signal_nbi_block(dst + 128, src, bytes, words + 1, 2, libshmem_device.NVSHMEM_SIGNAL_ADD, right)
    token = dl.wait(words + 1, 1, "sys", "acquire", waitValue=2)
    libshmem_device.getmem_block(dst + 256, src, bytes, left)
    libshmem_device.int_p(small, 40 + me, right)
    libshmem_device.quiet()
    libshmem_device.sync_all_block()
    libshmem_device.broadcast_block(0, dst + 384, src, 128, n - 1)
    libshmem_device.fcollectmem_block(team, small + 8, small + 4, 4)
    libshmem_device.barrier_block(team)
    if dl.tid(0) == 0:
        tl.store(out, libshmem_device.team_my_pe(team))
        tl.store(out + 1, libshmem_device.team_n_pes(team))
        tl.store(out + 2, libshmem_device.team_translate_pe(team, 0, 0))
        tl.store(out + 3, tl.load(libshmem_device.remote_ptr(small, right)))
        tl.store(out + 4, token)
        dl.atomic_add(out + 5, 3, scope="sys", semantic="acq_rel")
        dl.st(out + 6, dl.ld(out + 5, scope="sys", semantic="acquire"), scope="gpu", semantic="release")
        tl.store(out + 7, dl.atomic_cas(out + 6, 3, 9, "gpu", "relaxed"))


@jit
def rows_behind_their_signals(out, rows, signals, count, WIDTH: tl.constexpr, STAGES: tl.constexpr):
    """Loads in a pipelined loop, each behind a wait."""
    lanes = tl.arange(0, WIDTH)
    total = tl.zeros([WIDTH], tl.float32)
    for i in tl.range(0, count, num_stages=STAGES):
        token = dl.wait(signals + i, 1, "gpu", "acquire", waitValue=1)
        row = dl.consume_token(rows + i * WIDTH, token)
        total += tl.load(row + lanes)
    tl.store(out + lanes, total)


@triton.jit
def without_the_library(out):
    tl.store(out, dl.rank())

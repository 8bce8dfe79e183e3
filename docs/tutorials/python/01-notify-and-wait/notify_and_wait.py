"""A queue between two GPUs, in one kernel of Triton: weft-run -n 2 python notify_and_wait.py"""

import triton.language as tl

import weft.triton as wt
from weft.triton import language as dl


# [kernel]
@wt.jit
def queue(
    inp, out, count, slots, signals, SLOTS: tl.constexpr, WIDTH: tl.constexpr, PRODUCERS: tl.constexpr, CONSUMERS: tl.constexpr
):
    program = tl.program_id(0)
    me, n = dl.rank(), dl.num_ranks()
    lanes = tl.arange(0, WIDTH)
    if program < PRODUCERS:
        right = (me + 1) % n
        for i in range(program, count, PRODUCERS):
            slot, turn = i % SLOTS, i // SLOTS
            # The slot is empty: its word there says so.
            token = dl.wait(dl.symm_at(signals, right) + slot, 1, "sys", "acquire", waitValue=turn * 2)
            data = tl.load(dl.consume_token(inp, token) + i * WIDTH + lanes)
            tl.store(dl.symm_at(slots, right) + slot * WIDTH + lanes, data)
            dl.notify(signals + slot, right, signal=turn * 2 + 1)
    else:
        for i in range(program - PRODUCERS, count, CONSUMERS):
            slot, turn = i % SLOTS, i // SLOTS
            # Full.
            token = dl.wait(signals + slot, 1, "sys", "acquire", waitValue=turn * 2 + 1)
            data = tl.load(dl.consume_token(slots, token) + slot * WIDTH + lanes)
            tl.store(out + i * WIDTH + lanes, data)
            dl.notify(signals + slot, me, signal=turn * 2 + 2)


# [kernel]
def main():
    import torch

    import weft

    weft.init(device="cuda")
    me, n = weft.my_pe(), weft.n_pes()
    # [call]
    count, width, slots = 2000, 128, 32
    box, signals = weft.empty((slots, width)), weft.zeros(slots, "uint64")  # symmetric
    of = lambda pe: torch.randn(count, width, generator=torch.Generator().manual_seed(pe))
    inp, out = of(me).cuda(), torch.empty(count, width, device="cuda")
    queue[(20,)](inp, out, count, box.torch(), signals.torch(), slots, width, 16, 4)
    assert torch.equal(out.cpu(), of((me - 1) % n))
    # [call]
    print(f"PE {me} of {n} has {count} blocks of PE {(me - 1) % n}")


if __name__ == "__main__":
    main()

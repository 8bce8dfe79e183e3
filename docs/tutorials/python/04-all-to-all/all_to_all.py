"""Tokens to the PEs of their experts, by one kernel of Triton: weft-run -n 2 python all_to_all.py"""

import triton.language as tl

import weft.triton as wt
from weft.triton import device


# [kernel]
@wt.jit(do_not_specialize=["turn"])
def exchange(ctx, inbox, words, counts, rows, starts, turn, CAPACITY: tl.constexpr, WIDTH: tl.constexpr, ROW_BYTES: tl.constexpr):
    """A program for each other PE: my rows for it, and those that it has for me."""
    pe = tl.program_id(0)
    me, n = device.my_pe(ctx), device.n_pes(ctx)
    first, last = tl.load(starts + pe), tl.load(starts + pe + 1)
    half = (turn % 2) * n
    # The word says how many came, and in which turn.
    stamp = turn.to(tl.int64) * 4294967296
    there = inbox + (half + me) * CAPACITY * WIDTH
    size = (last - first) * ROW_BYTES
    device.put_signal_set_block(ctx, there, rows + first * WIDTH, size, words + half + me, stamp + (last - first), pe)
    device.wait_until_u64_block(ctx, words + half + pe, 3, stamp)  # >=
    tl.store(counts + pe, tl.load(words + half + pe, volatile=True).to(tl.int32))


# [kernel]
def main():
    import torch

    import weft

    weft.init(device="cuda")
    me, n = weft.my_pe(), weft.n_pes()
    # [call]
    tokens, width = 128, 1024
    inbox = weft.zeros((2, n, tokens, width), torch.bfloat16)  # for even and odd turns
    words = weft.zeros((2, n), torch.uint64)
    counts = torch.zeros(n, dtype=torch.int32, device="cuda")

    def send(turn, rows, to):
        """rows[i] to PE to[i]; gives what came, by source."""
        order = torch.argsort(to, stable=True)
        starts = torch.searchsorted(to[order], torch.arange(n + 1, device="cuda")).int()
        exchange[(n,)](
            wt.context(), inbox.torch(), words.torch(), counts, rows[order].contiguous(), starts, turn, tokens, width, 2 * width
        )
        return inbox.torch()[turn % 2], counts
    # [call]

    def given(pe, turn):
        source = torch.Generator().manual_seed(1000 * turn + pe)
        return torch.randn(tokens, width, generator=source).bfloat16(), torch.randint(0, n, (tokens,), generator=source)

    for turn in range(1, 20):
        rows, to = given(me, turn)
        came, how_many = send(turn, rows.cuda(), to.cuda())
        for pe in range(n):
            wanted = given(pe, turn)[0][given(pe, turn)[1] == me]
            assert int(how_many[pe]) == len(wanted) and torch.equal(came[pe, : len(wanted)].cpu(), wanted)
    print(f"PE {me} of {n} has had its rows in {turn} turns")


if __name__ == "__main__":
    main()

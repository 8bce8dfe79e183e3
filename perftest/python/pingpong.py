"""A put with a signal, there and back."""

import triton.language as tl

import weft.triton as wt
from weft.triton import device


@wt.jit(do_not_specialize=["bytes", "turns", "me"])
def there_and_back(ctx, box, came, data, bytes, turns, me):
    other = 1 - me
    first = tl.load(came)
    for turn in range(turns):
        if me == 0:
            device.put_signal_add_block(ctx, box, data, bytes, came, 1, other)
            device.wait_until_u64_block(ctx, came, 3, first + turn + 1)
        else:
            device.wait_until_u64_block(ctx, came, 3, first + turn + 1)
            device.put_signal_add_block(ctx, box, data, bytes, came, 1, other)

"""A put with a signal, there and back."""

import weft.triton as wt
from weft.triton import device


@wt.jit(do_not_specialize=["bytes", "first", "turns", "me"])
def there_and_back(ctx, box, came, data, bytes, first, turns, me):
    """Turns first to first + turns - 1 of all launches: each raises `came` to its number + 1."""
    other = 1 - me
    for turn in range(first, first + turns):
        if me == 0:
            device.put_signal_set_block(ctx, box, data, bytes, came, turn + 1, other)
            device.wait_until_u64_block(ctx, came, 3, turn + 1)
        else:
            device.wait_until_u64_block(ctx, came, 3, turn + 1)
            device.put_signal_set_block(ctx, box, data, bytes, came, turn + 1, other)

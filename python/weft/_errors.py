"""Exceptions. Each carries the text that libweft gives: what went wrong, where, and how to mend it."""


class WeftError(RuntimeError):
    """A call of Weft failed. `code` is libweft's name of the kind, as in weft/status.hpp."""

    __module__ = "weft"

    code: str = "internal"


class ArgumentError(WeftError, ValueError):
    """The call was wrong, and nothing was done."""

    __module__ = "weft"


class UnsupportedError(WeftError, NotImplementedError):
    """This build, machine or transport cannot do it."""

    __module__ = "weft"


class OutOfMemoryError(WeftError, MemoryError):
    """The symmetric heap, or the machine, has no more."""

    __module__ = "weft"


class WaitTimeoutError(WeftError, TimeoutError):
    """A wait ran into its deadline (WEFT_WAIT_TIMEOUT)."""

    __module__ = "weft"


class PeerLostError(WeftError):
    """Another PE is gone; so is the job."""

    __module__ = "weft"


class AbortedError(WeftError):
    """Somebody ended the job."""

    __module__ = "weft"


_CLASSES: dict[str, type[WeftError]] = {
    "invalid argument": ArgumentError,
    "out of range": ArgumentError,
    "not symmetric": ArgumentError,
    "unsupported": UnsupportedError,
    "out of memory": OutOfMemoryError,
    "timeout": WaitTimeoutError,
    "peer lost": PeerLostError,
    "aborted": AbortedError,
}


def error_of(code: str, text: str) -> WeftError:
    """The exception for a failed status; the extension calls it."""
    error = _CLASSES.get(code, WeftError)(text)
    error.code = code
    return error

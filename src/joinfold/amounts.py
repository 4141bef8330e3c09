"""Amounts as text: seconds, bytes, numbers, shares.

They have two significant digits, such as 0.12 s or 3.1 MB, because estimates are accurate to about one.
"""

import math

_SECONDS = ((0.1, 1.0, "s"), (1e-4, 1e-3, "ms"), (0.0, 1e-6, "µs"))
_BYTES = ("bytes", "kB", "MB", "GB", "TB", "PB")
NOTHING = "–"


def seconds_text(seconds: float) -> str:
    """A time: 0.12 s, 3.4 ms, 50 µs."""
    if seconds == 0:
        return "0 s"
    seconds = _two_digits(seconds)
    unit, name = next((unit, name) for least, unit, name in _SECONDS if seconds >= least)
    return f"{_digits_text(seconds / unit)} {name}"


def bytes_text(size: float) -> str:
    """A number of bytes: 12 bytes, 3.4 MB."""
    size, unit = _two_digits(size), 0
    while size >= 1000 and unit < len(_BYTES) - 1:
        size, unit = size / 1000, unit + 1
    return f"{_digits_text(size)} {_BYTES[unit]}"


def number_text(number: float) -> str:
    """A number that was counted or declared, rounded to two digits only if it is below 10: 1,250, 12, 1.5."""
    number = number if number >= 10 else _two_digits(number)
    return f"{number:,.0f}" if number >= 10 or number == round(number) else _digits_text(number)


def share_text(share: float) -> str:
    """A part of a whole: 40 %, 0.5 %."""
    return f"{number_text(_two_digits(100 * share))} %"


def times_text(amount: float, other: float) -> str:
    """The ratio of two amounts: 1.0 ×, 18 ×."""
    return f"{_digits_text(_two_digits(amount / other))} ×" if other else NOTHING


def _two_digits(number: float) -> float:
    """Rounded to two significant digits."""
    return 0.0 if number == 0 else round(number, 1 - math.floor(math.log10(abs(number))))


def _digits_text(number: float) -> str:
    """A number that has been rounded to two significant digits, as text: 120, 12, 1.0, 0.12."""
    if number == 0:
        return "0"
    return f"{number:,.{max(0, 1 - math.floor(math.log10(abs(number)) + 1e-9))}f}"

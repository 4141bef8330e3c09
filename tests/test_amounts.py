"""Amounts as people read them, with two digits."""

from joinfold.amounts import bytes_text, number_text, seconds_text, share_text, times_text


def test_amounts() -> None:
    assert [seconds_text(x) for x in (0, 0.12, 1.26, 123.4, 0.0099, 0.009_96, 3.4e-6, 1234)] == [
        *("0 s", "0.12 s", "1.3 s", "120 s", "9.9 ms", "10 ms", "3.4 µs", "1,200 s")
    ]
    assert [bytes_text(x) for x in (0, 12, 999, 999_600, 3.14e6, 5e16)] == [
        *("0 bytes", "12 bytes", "1.0 kB", "1.0 MB", "3.1 MB", "50 PB")
    ]
    assert [number_text(x) for x in (1, 1.0001, 1.26, 12.4, 1234.5)] == ["1", "1", "1.3", "12", "1,234"]
    assert [share_text(x) for x in (1.0, 0.4, 0.005, 0.999, 0.0)] == ["100 %", "40 %", "0.50 %", "100 %", "0 %"]
    assert [times_text(*x) for x in ((3, 2), (1, 1), (1900, 1), (1, 0))] == ["1.5 ×", "1.0 ×", "1,900 ×", "–"]

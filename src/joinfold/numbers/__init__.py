"""Arrays of numbers with more digits than a double: exact fractions, and double-doubles of 106 bits.

Both have the operators of a number, so a formula is written once for both::

    ExactNumbers      a numerator and a denominator     exact; integers and decimals
    RoundedNumbers    hi + lo, two doubles              sums of doubles, and statistics of all numbers; each number has
                                                        a bound of its error

Division by 0 gives a *missing* number, which is NULL in SQL.
"""

from typing import TypeAlias, TypeVar

from joinfold.numbers.exact import ExactNumbers
from joinfold.numbers.rounded import RoundedNumbers

Numbers: TypeAlias = ExactNumbers | RoundedNumbers
Number = TypeVar("Number", ExactNumbers, RoundedNumbers)

__all__ = ["ExactNumbers", "Number", "Numbers", "RoundedNumbers"]

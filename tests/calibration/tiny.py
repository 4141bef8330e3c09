"""Trials on very little."""

from joinfold.calibration.queries import CONDITION, SETS
from joinfold.calibration.trial import Streams, Trial

TINY = (
    Trial("sets", SETS, Streams((40, 40), keys=5, groups=2, size=2), measured=2),
    Trial("condition", CONDITION, Streams((30, 30), keys=5, groups=2, size=2), measured=2),
)

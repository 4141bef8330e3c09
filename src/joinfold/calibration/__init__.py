"""What operations cost on this machine, for the command ``joinfold calibrate``.

It runs the queries of ``queries`` (``trial`` runs one), puts the counted operations beside the measured seconds
(``pricing``), and finds the prices that fit them best (``fitting``).
"""

from joinfold.calibration.pricing import Calibration, calibrate
from joinfold.calibration.queries import trials

__all__ = ["Calibration", "calibrate", "trials"]

"""What operations cost on this machine: ``calibrate`` is what the command ``joinfold calibrate`` runs.

``queries`` are tried (``trial``), what each did is billed (``pricing``), and the prices are those that fit the bills
(``fitting``).
"""

from joinfold.calibration.pricing import Calibration, calibrate
from joinfold.calibration.queries import trials

__all__ = ["Calibration", "calibrate", "trials"]

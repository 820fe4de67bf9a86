"""What calibrations share that bend Platt's line."""

from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from toprank.calibration.counts import count_range
from toprank.calibration.sigmoid import SigmoidCalibration
from toprank.data import checks
from toprank.metrics import Interval

Vector = NDArray[np.float64]

_LARGEST = 1e100


@dataclass(frozen=True, eq=False)
class ShapedCalibration:
    """A calibration that is more than a line; `line` is Platt's, from which it starts.

    A shape writes `log_odds`, `counted` and `_check`; its fields other than the line are arrays.
    """

    line: SigmoidCalibration

    def log_odds(self, raw: ArrayLike) -> Vector:
        """Return the calibrated log-odds, in the order of the raw scores."""
        raise NotImplementedError

    def probability(self, raw: ArrayLike) -> Vector:
        """Return the calibrated probability."""
        return expit(self.log_odds(raw))

    def expected_positives(self, raw: ArrayLike, level: float = 0.9) -> Interval:
        """Return the positives to expect in these rows, and the range of `level` of cases.

        The range allows for chance, each row being positive or not, and for the uncertainty of the
        calibration. It does not allow for new rows that differ from the calibrated ones.
        """
        raw = checks.finite_vector(raw, "raw")
        probability, doubt = self.counted(raw)
        expected = float(probability.sum())
        chance = float((probability * (1 - probability)).sum())
        return Interval(expected, *count_range(expected, chance + doubt, raw.size, level))

    def counted(self, raw: Vector) -> tuple[Vector, float]:
        """Return the probabilities to add up, and the calibration's variance of their sum."""
        raise NotImplementedError

    def _check(self) -> None:
        """Raise a ValueError if the arrays do not make a calibration."""
        raise NotImplementedError

    def to_json(self) -> dict[str, Any]:
        """Return the calibration as plain numbers and lists."""
        return {each.name: np.asarray(getattr(self, each.name)).tolist() for each in fields(self)}

    @classmethod
    def from_json(cls, plain: dict[str, Any]) -> Self:
        """Return the calibration that `to_json` wrote; ValueError if it is not valid."""
        line, *arrays = (np.array(plain[each.name], dtype=np.float64) for each in fields(cls))
        if not all((np.abs(numbers) < _LARGEST).all() for numbers in (line, *arrays)):
            raise ValueError("a calibration must hold finite numbers.")
        calibration = cls(SigmoidCalibration(*line.tolist()), *arrays)
        calibration._check()
        return calibration

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and self.to_json() == other.to_json()

    __hash__ = None  # type: ignore[assignment]

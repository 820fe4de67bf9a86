"""The rules of a desk, as they are evaluated on payments."""

from collections.abc import Sequence

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from toprank.live.engine.decisions import Judgement
from toprank.live.messages import Payment
from toprank.live.settings import DeskSettings
from toprank.payments.payment_model import PaymentModel


class LiveRules:
    number = 0

    @classmethod
    def load(cls, connection: sa.Connection, model: PaymentModel, settings: DeskSettings):
        return cls()

    def judge(self, payments: Sequence[Payment], features: NDArray[np.float64], now: int):
        return [Judgement([], []) for _ in payments]

    def judge_scored(self, payments, features, suspicion, now):
        return [Judgement([], []) for _ in payments]

    def reload(self, connection): ...

    def tripped(self, now):
        return []

    def pause(self, connection, tripped, now): ...

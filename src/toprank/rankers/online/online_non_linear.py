"""Online non-linear boosting: weak learners combined in several latent spaces."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from toprank.data import checks
from toprank.rankers.online import online_kernel
from toprank.rankers.online import weights as all_weights
from toprank.rankers.online.booster import OnlineBooster

UPDATES = {
    "residual": online_kernel.RESIDUAL,
    "prefix": online_kernel.PREFIX,
    "full": online_kernel.FULL,
}
LOSSES = {"log": online_kernel.LOG, "ap": online_kernel.AVERAGE_PRECISION}


@dataclass(eq=False, repr=False)
class OnlineNonLinearBoost(OnlineBooster):
    """ONLB: small networks combined in latent spaces, learned row by row.

    `F(x) = c + sum_p a_p relu(d_p + sum_t b_pt h_t(x))`, where `h_t` is a network of `width`
    hidden units; with `wide`, also plus `w x`, a weighted sum of the inputs as in a logistic
    regression. All weights follow the gradient, by Adagrad. After J. Frery, "Ensemble learning
    for extremely imbalanced data flows" (thesis, 2019), chapter 4, which has no wide part; with
    more than two classes every class but one has outputs, latents and an F of its own, joined by
    a softmax.

    Parameters
    ----------
    n_learners, n_latents, width
        T, P and the hidden units of a weak learner.
    update
        What a weak learner learns from. "full": the gradient of the loss of F, for all at once;
        this is plain backpropagation through the same architecture, no longer boosting, and the
        most accurate. "prefix": the gradient of the loss of the first t learners. "residual":
        the residuals that the first t - 1 leave, as in the thesis.
    learning_rate
        Adagrad's learning rate.
    wide
        Whether the inputs also have weights of their own, straight to the score, which the thesis
        has not. It helps with update="residual".
    loss
        "log", or "ap": each row is weighted by the precision of the list that ends at its score,
        which favours the top of the ranking over its bottom. Two classes only.
    class_weight
        None, "balanced" (by the counts so far) or a dict of labels and weights.
    averaged
        Score with the average of the weights over all rows, later ones counting more. Steadier
        while nothing changes, slower to follow a change.
    n_buckets
        Number of hash buckets for text.
    positive_label
        The suspicious label; not needed for true and false, 1 and 0, 1 and -1.
    random_state
        Random seed of the initial weights.

    Examples
    --------
    >>> learner = OnlineNonLinearBoost()
    >>> for amount, is_fraud in [(9.0, False), (900.0, True)] * 50:
    ...     suspicion = learner.score_one({"amount": amount, "country": "FR"})
    ...     learner.learn_one({"amount": amount, "country": "FR"}, is_fraud)
    >>> learner.score_one({"amount": 9.0}) < learner.score_one({"amount": 900.0})
    True
    """

    n_learners: int = 10
    n_latents: int = 10
    _: KW_ONLY
    update: str = "full"
    loss: str = "log"
    wide: bool = False

    _most_classes: ClassVar[int | None] = None

    def latents(self, X: Any) -> NDArray[np.float64]:
        """Return what each latent adds to each row's raw score, a_p relu(z_p): (row, latent).

        The rest of the score is a constant and, with `wide`, what the wide part adds. With more
        than two classes there is a third axis, that of the outputs.
        """
        rows = self._encoded(X)
        parts = all_weights.views(self.model_.scoring_head(), self.model_.shape)
        spaces = np.einsum("tpj,rtj->rpj", parts["projection"], self.model_.weak_outputs(rows))
        added = parts["latent"] * np.maximum(spaces + parts["latent bias"], 0)
        return added[:, :, 0] if added.shape[2] == 1 else added

    def projections(self) -> NDArray[np.float64]:
        """Return b: the weight of each weak learner in each latent, (learner, latent).

        With more than two classes there is a third axis, that of the outputs.
        """
        projection = all_weights.views(self.model_.scoring_head(), self.model_.shape)["projection"]
        return projection[:, :, 0] if projection.shape[2] == 1 else projection

    def _rule(self) -> dict[str, Any]:
        return {
            "rule": online_kernel.NON_LINEAR,
            "update": UPDATES[checks.one_of(self.update, "update", tuple(UPDATES))],
            "loss": LOSSES[checks.one_of(self.loss, "loss", tuple(LOSSES))],
            "n_latents": checks.whole_number(self.n_latents, "n_latents", 1, 10_000),
            "is_wide": bool(self.wide),
        }

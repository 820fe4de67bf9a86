"""The parameters of a payment model, checked and in the form in which training takes them."""

from typing import Any

from toprank.data.tables.spans import span_of
from toprank.payments.roles import Roles


def roles_of(model: Any) -> Roles | None:
    """Return the roles of the columns; None without a card."""
    others = {"terminal": model.terminal, "amount": model.amount, "row_id": model.row_id}
    if model.card is None:
        about_cards = {"features": model.features, "card_key": model.card_key}
        for name, value in {**others, **about_cards}.items():
            if value is not None:
                raise ValueError(f"{name} must come with card: it is about its past.")
        return None
    required = {"time": model.time, "terminal": model.terminal, "amount": model.amount}
    for name, value in required.items():
        if value is None:
            raise ValueError(f"{name} must be given with card, to know its past; got None.")
    return Roles(str(model.time), model.card, str(model.terminal), str(model.amount), model.row_id)


def training_options(model: Any, roles: Roles | None) -> dict[str, Any]:
    """Return how the rows are split and which columns are learned from."""
    options = {
        "time": model.time,
        "positive_label": model.positive_label,
        "keep": model.keep,
        "gap": None if model.gap is None else span_of(model.gap, "gap"),
        "random_state": model.random_state,
    }
    if roles is None:
        return options
    # the model learns from features of cards and terminals, not from their names
    names = [roles.card, roles.terminal, *([roles.row_id] if roles.row_id else [])]
    if model.gap is None:
        options["gap"] = span_of(model.delay, "delay")
    return {**options, "drop": names, "card": roles.card, "amount": roles.amount}

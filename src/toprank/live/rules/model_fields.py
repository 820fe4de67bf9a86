"""The names that rules may use with a payment model: its columns and the features of the past."""

from toprank.live.rules.rule_fields import FieldType, RuleFields
from toprank.payments.payment_model import PaymentModel

_TYPES: dict[str, FieldType] = {"number": "number", "category": "text", "boolean": "boolean"}


def rule_fields(model: PaymentModel) -> RuleFields:
    """Return the fields of a payment and the features that a model computes, with their types.

    Times are those of the model's time column; cards and terminals are texts.
    """
    roles = model.roles
    if model.state_ is None or roles is None:
        raise ValueError("the model must be fitted with card (--card) for rules; it was not.")
    columns = () if model.schema_ is None else model.schema_.columns
    types: dict[str, FieldType] = {each.name: _TYPES[each.kind] for each in columns}
    types |= dict.fromkeys(model.state_.history.names, "number")
    types |= {
        roles.time: "time", roles.card: "text", roles.terminal: "text", roles.amount: "number"
    }  # fmt: skip
    return RuleFields(types)

"""The names that rules may use with a payment model: its columns and the features of the past."""

from toprank.live.desk import fields_of
from toprank.live.rules.rule_fields import FieldType, RuleFields
from toprank.payments.payment_model import PaymentModel


def rule_fields(model: PaymentModel) -> RuleFields:
    """Return the fields of a payment and the features that a model computes, with their types."""
    if model.state_ is None:
        raise ValueError("the model must be fitted with card (--card) for rules; it was not.")
    features: dict[str, FieldType] = dict.fromkeys(model.state_.history.names, "number")
    return RuleFields(features | {each.name: each.kind for each in fields_of(model)})

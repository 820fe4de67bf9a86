"""What a person who checks may be refused, in sentences for them."""


class CheckError(ValueError):
    """A check that cannot be done as asked."""


class NoAlertError(CheckError):
    """There is no alert, check or payment of this number."""


class TakenError(CheckError):
    """The card is not free, or no longer held by the person."""

"""Whether a card is written as the number on its front, which must not be stored."""

from toprank.live.web.request_errors import RequestError

_DOUBLED = (0, 2, 4, 6, 8, 1, 3, 5, 7, 9)  # the digits of twice each digit, added up


def refuse_card_number(name: str, card: str, is_tokenising: bool) -> None:
    """Raise if a card is a card number and would be stored as it is."""
    if not is_tokenising and is_card_number(card):
        raise RequestError.invalid(
            name,
            card,
            "a token, not a card number (13 to 19 digits with the check digit of card numbers), "
            "unless the desk is served with a key for cards",
            code="card_number",
        )


def is_card_number(text: str) -> bool:
    """Return whether a text has 13 to 19 digits whose last one is their check digit (Luhn).

    >>> is_card_number("4539 1488 0343 6467"), is_card_number("4539148803436468")
    (True, False)
    """
    digits = text.replace(" ", "").replace("-", "")
    if not (13 <= len(digits) <= 19 and digits.isascii() and digits.isdigit()):
        return False
    backwards = [int(digit) for digit in reversed(digits)]
    total = sum(backwards[::2]) + sum(_DOUBLED[digit] for digit in backwards[1::2])
    return total % 10 == 0

"""The text of a rule as a syntax tree: sqlglot parses it, within limits.

The dialect knows no functions of its own and no casts by function: what looks like a call comes
out as a name with arguments, and what is allowed is decided in `rule_language`.
"""

from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ParseError, SqlglotError
from sqlglot.parser import Parser
from sqlglot.tokens import Token, TokenType

from toprank.live.rules.rule_fields import RuleError, shortened

MOST_CHARACTERS = 2_000
MOST_TOKENS = 600
MOST_LEVELS = 20

_OPENING = {TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE, TokenType.CASE}
_CLOSING = {TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE, TokenType.END}


class _RuleParser(Parser):
    FUNCTIONS: ClassVar[dict[str, Any]] = {}
    FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {}
    NO_PAREN_FUNCTIONS: ClassVar[dict[Any, Any]] = {}
    NO_PAREN_FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
        "CASE": Parser.NO_PAREN_FUNCTION_PARSERS["CASE"]
    }


class _RuleDialect(Dialect):
    Parser = _RuleParser


def syntax_tree(text: str) -> Any:
    """Return the one expression of a text; RuleError if it is none or beyond the limits.

    >>> syntax_tree("amount > 5").key
    'gt'
    """
    _check_characters(text)
    dialect = _RuleDialect()
    try:
        tokens = dialect.tokenize(text)
        _check_tokens(tokens)
        found = dialect.parser().parse_into(exp.Condition, tokens, text)
    except RuleError:
        raise
    except RecursionError:
        raise too_deep() from None
    except ParseError as error:
        raise RuleError(_where(error)) from None
    except SqlglotError as error:
        raise RuleError(f"the rule cannot be read as a condition: {_first(error)}.") from None
    except Exception as error:  # whatever the parser stumbles over, the text is at fault
        raise RuleError(
            f"the rule cannot be read as a condition: {type(error).__name__} in its text."
        ) from None
    if len(found) != 1 or found[0] is None:
        raise RuleError(f"a rule must be one condition; got {len(found)}.")
    return found[0]


def sql_of(node: Any) -> str:
    """Return a piece of the tree as text, for messages."""
    try:
        return shortened(node.sql(dialect=_RuleDialect, comments=False))
    except Exception:  # a message must not fail for the sake of its quotation
        return str(node.key)


def too_deep() -> RuleError:
    """Return the error of a rule with too many levels of brackets."""
    return RuleError(f"a rule must be nested at most {MOST_LEVELS} levels deep; it is deeper.")


def _check_characters(text: Any) -> None:
    if not isinstance(text, str) or not text.strip():
        raise RuleError("a rule must be a condition, such as amount > 500; it is empty.")
    if len(text) > MOST_CHARACTERS:
        raise RuleError(
            f"a rule must have at most {MOST_CHARACTERS:,} characters; it has {len(text):,}."
        )
    odd = next((each for each in text if not each.isprintable() and each not in "\n\t\r"), None)
    if odd is not None:
        raise RuleError(f"a rule must be printable text; it contains the character {odd!a}.")


def _check_tokens(tokens: list[Token]) -> None:
    if len(tokens) > MOST_TOKENS:
        raise RuleError(
            f"a rule must have at most {MOST_TOKENS} words and signs; it has {len(tokens)}."
        )
    level = 0
    for token in tokens:
        if token.comments:
            raise RuleError("a rule must not contain comments: put them in its description.")
        if token.token_type == TokenType.SEMICOLON:
            raise RuleError("a rule must be one condition; it contains a semicolon.")
        level += (token.token_type in _OPENING) - (token.token_type in _CLOSING)
        if level > MOST_LEVELS:
            raise too_deep()


def _where(error: ParseError) -> str:
    if not error.errors:
        return f"the rule cannot be read as a condition: {_first(error)}."
    found = error.errors[0]
    near = shortened(str(found.get("highlight") or ""), 30)
    column = (found.get("col") or 0) - len(str(found.get("highlight") or "")) + 1
    line = found.get("line") or 1
    place = f"character {max(column, 1)}" + (f" of line {line}" if line > 1 else "")
    return f"the rule cannot be read as a condition from {near!r} on ({place})."


def _first(error: Exception) -> str:
    return shortened(str(error).splitlines()[0] if str(error) else type(error).__name__).rstrip(
        "."
    )

"""Rule texts that try to run something: each gets a sentence, and nothing runs."""

import sys
from itertools import product

import pytest

from toprank.live.rules.rule_fields import RuleError, RuleFields
from toprank.live.rules.rule_language import parse

FIELDS = RuleFields({"amount": "number", "country": "text", "online": "boolean"})

SEEDS = [
    "(SELECT 1) = 1",
    "EXISTS (SELECT * FROM audit)",
    "amount IN (SELECT amount FROM payments)",
    "amount > ALL (SELECT 1)",
    "amount = ANY (VALUES (1))",
    "SELECT 1 UNION SELECT 2",
    "WITH x AS (SELECT 1) SELECT * FROM x",
    "DROP TABLE rules",
    "ATTACH DATABASE 'a.db' AS a",
    "PRAGMA writable_schema = 1",
    "COPY rules TO 'a.csv'",
    "INSERT INTO rules VALUES (1)",
    "UPDATE rules SET state = 'live'",
    "load_extension('a.so') = 1",
    "readfile('/etc/passwd') = 'x'",
    "read_csv('/etc/passwd') = 'x'",
    "system('id') = 0",
    "eval('1') = 1",
    "exec('import os') = 1",
    "__import__('os').system('id') = 0",
    "amount.__class__ = 1",
    "amount.__class__.__mro__[1].__subclasses__() = 1",
    "getattr(amount, 'x') = 1",
    "pl.col('amount') > 1",
    "lambda x: x",
    "list_transform(amount, x -> x) = 1",
    "CAST(amount AS VARCHAR) = 'x'",
    "amount::TEXT = 'x'",
    "TRY_CAST(amount AS DATE) = 1",
    "CONVERT(amount, INT) = 1",
    "sum(amount) OVER (PARTITION BY country) > 1",
    "count(*) > 1",
    "row_number() OVER () = 1",
    "{{ config }} = 1",
    "{% for x in y %}{% endfor %}",
    "${jndi:ldap://a} = 1",
    "$$x$$ = 'x'",
    "@amount = 1",
    ":amount = 1",
    "? = 1",
    "%(amount)s = 1",
    "sleep(10) = 1",
    "pg_sleep(10) IS NULL",
    "randomblob(1000000000) IS NULL",
    "repeat('a', 1000000000) = 'a'",
    "country || 'x' = 'x'",
    "country REGEXP '(a+)+$'",
    "country GLOB '*'",
    "country SIMILAR TO 'a'",
    "amount[1] = 1",
    "amount -> '$.x' = 1",
    "INTERVAL '1' DAY > amount",
    "current_timestamp > '2025-01-01'",
    "(amount, 1) = (1, 2)",
    "amount := 5",
    "payments.amount = 1",
    "x'41' = 'A'",
    "amount COLLATE nocase = 1",
    "/*+ hint */ amount > 1",
    "amount > 1 -- x",
    "amount > 1; DELETE FROM rules",
    "amount > 1 LIMIT 1",
]

CHANGES = [
    "{}".format,
    lambda seed: seed.swapcase(),
    "({})".format,
    "amount > 1 AND ({})".format,
    "NOT ({}) OR online".format,
    "abs({}) > 1".format,
    "CASE WHEN {} THEN 1 END = 1".format,
    "amount IN (1, {})".format,
    lambda seed: seed.replace(" ", "/**/"),
    lambda seed: seed.replace("(", "\n(\t"),
    "country = '' OR {} --".format,
    "{};".format,
]


@pytest.fixture(scope="module")
def events():
    """What Python's audit reports while `is_watching` is set."""
    seen = {"is_watching": False, "found": []}
    watched = {"exec", "compile", "open", "os.system", "subprocess.Popen", "socket.connect",
               "sqlite3.connect", "ctypes.dlopen", "os.exec", "import"}  # fmt: skip

    def hook(event, _):
        if seen["is_watching"] and event in watched:
            seen["found"].append(event)

    with pytest.raises(RuleError):
        parse("(SELECT 1)", FIELDS, "block")
    parse("amount > 1", FIELDS, "block")  # what is imported late is imported now
    sys.addaudithook(hook)
    return seen


def test_hundreds_of_hostile_texts_run_nothing_and_each_gets_a_sentence(events):
    texts = [change(seed) for seed, change in product(SEEDS, CHANGES)]
    assert len(set(texts)) >= 500
    for text in texts:
        events["is_watching"] = True
        try:
            with pytest.raises(RuleError) as caught:
                parse(text, FIELDS, "block")
        finally:
            events["is_watching"] = False
        message = str(caught.value)
        assert message[-1] in ".?", (text, message)
        assert 10 < len(message) < 300, (text, message)
        assert "\n" not in message, (text, message)
    assert events["found"] == []


def test_the_audit_would_see_what_runs(events):
    events["is_watching"] = True
    exec("1")
    events["is_watching"] = False
    assert events["found"]
    events["found"].clear()


@pytest.mark.parametrize(
    "letter", ["(", "[", "{", "NOT ", "- ", "CASE WHEN ", "a(", "'", '"', "/*"]
)
@pytest.mark.parametrize("count", [19, 200, 1990])
def test_repeated_signs_get_a_sentence_quickly(letter, count):
    with pytest.raises(RuleError):
        parse((letter * count)[:2000], FIELDS, "block")

"""Rules that go wrong, rules that mean harm, and a rule on all that is stored."""

import sys
import time
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np

from toprank.live.desk import Desk
from toprank.live.rules import rule_life
from toprank.live.rules.desk_rules import DeskRules
from toprank.live.rules.rule_fields import RuleError, RuleFields
from toprank.live.rules.rule_language import parse
from toprank.payments.payment_model import PaymentModel
from toprank_bench.live_load.live_figures import LiveFigure, StageOutcome, none_of
from toprank_bench.live_load.live_stage import StageSetting
from toprank_bench.live_load.live_world import add_rules, encoded
from toprank_bench.live_load.open_loop import Due, OpenLoop, poisson_times, request_bytes
from toprank_bench.live_load.senders import post_batch
from toprank_bench.speed.timing import milliseconds_each

_RULE = "block-all"
_N_FIRST = 200
_NOTICED = 1.0  # seconds after which a server knows of a new rule


def breaker(setting: StageSetting) -> StageOutcome:
    """Measure for how long a rule that blocks every payment does so."""
    rate, seconds, key = setting.options["rate"], setting.options["seconds"], setting.world.key
    times = poisson_times(rate, seconds, setting.seed)
    bodies = setting.world.bodies(_N_FIRST + len(times))
    due = [
        Due(at, request_bytes("POST", "/v1/payments", key, encoded(body)), tag="payment")
        for at, body in zip(times, bodies[_N_FIRST:], strict=True)
    ]
    folder = setting.new_desk()
    with setting.served(folder) as server, PaymentModel.load(setting.world.model_path) as model:
        post_batch(server.address, key, bodies[:_N_FIRST])
        with Desk.open(folder) as desk:
            add_rules(desk, model, {_RULE: "TRUE"}, "block")
        time.sleep(_NOTICED)
        replies = OpenLoop(server.address).run(due)
    blocked = [each for each in replies if _RULE.encode() in each.body]
    with Desk.open(folder) as desk, desk.database.reading() as connection:
        is_paused = rule_life.rule_of(connection, _RULE).state == "shadow"
    lasted = blocked[-1].done - blocked[0].due if blocked and is_paused else np.inf
    return StageOutcome(
        [
            LiveFigure("blocked for", lasted, "s", at_most=1),
            LiveFigure("blocked", len(blocked), "payments"),
        ],
        {"rate": rate},
    )


def hostile_rules(setting: StageSetting) -> StageOutcome:
    """Count the hostile texts that are refused in a sentence, and what was run by any."""
    texts = hostile_texts()[: setting.options["texts"]]
    fields = RuleFields({"amount": "number", "country": "text", "online": "boolean"})
    _refusal("(SELECT 1)", fields)  # what is imported late is imported now
    seen = _watched_events()
    seen["is_watching"] = True
    refusals = [_refusal(text, fields) for text in texts]
    seen["is_watching"] = False
    return StageOutcome(
        [
            LiveFigure("texts", len(texts)),
            none_of("not refused in a sentence", sum(not _is_sentence(each) for each in refusals)),
            none_of("events of running something", len(seen["found"])),
        ],
        {"found": sorted(set(seen["found"]))},
    )


def backtest(setting: StageSetting) -> StageOutcome:
    """Measure a backtest of one rule over all stored payments."""
    with DeskRules.open(setting.new_desk()) as rules:
        rules.model  # noqa: B018  (loaded before the clock starts, as in a server)
        begin = time.perf_counter()
        found = rules.backtest(setting.options["rule"])
        seconds = time.perf_counter() - begin
    matches = found.matches.total
    return StageOutcome(
        [
            LiveFigure("one rule", seconds, "s", at_most=5),
            LiveFigure("stored", found.payments.total, "payments"),
        ],
        {"rule": setting.options["rule"], "matches": matches},
    )


def score_one(setting: StageSetting) -> StageOutcome:
    """Measure one payment scored with five reasons, in process."""
    payments = setting.world.later(setting.options["payments"]).to_pylist()
    with PaymentModel.load(setting.world.model_path) as model:

        def score(payment: Any) -> Any:
            return model.score(payment, n_reasons=5)

        score(payments[0])  # lays out the trees
        measured = milliseconds_each(score, payments, 1)
    return StageOutcome(
        [LiveFigure("p50", float(np.median(measured.rounds)), "ms", at_most=0.5)],
        {"payments": len(payments)},
    )


def hostile_texts() -> list[str]:
    """Return texts that try to read, write or run something, in many disguises.

    >>> len(set(hostile_texts())) >= 500
    True
    """
    return [change(seed) for change, seed in product(_CHANGES, _SEEDS)]


_SEEDS = (
    "(SELECT count(*) FROM audit) > 0", "EXISTS (SELECT 1)", "amount IN (SELECT 1)",
    "SELECT 1", "DROP TABLE payments", "DELETE FROM rules", "UPDATE rules SET state = 'live'",
    "ATTACH 'x.db' AS x", "PRAGMA table_info(rules)", "COPY payments TO 'x'",
    "readfile('/etc/passwd') = ''", "load_extension('x') = 1", "writefile('x', 'y') = 1",
    "system('id') = 0", "shell('id') = 0", "eval('1') = 1", "exec('x') = 1",
    "__import__('os').system('id') = 0", "open('/etc/passwd') = 1", "amount.__class__ = 1",
    "getattr(amount, '__dict__') = 1", "pl.read_csv('x') = 1", "sleep(60) = 0",
    "randomblob(1000000000) = 1", "repeat('a', 1000000000) = 'a'", "CAST(amount AS TEXT) = '1'",
    "amount::text = '1'", "sum(amount) > 1", "count(*) > 1", "rank() OVER (ORDER BY amount) = 1",
    "{{ 7 * 7 }} = 49", "${env:PATH} = ''", "@amount = 1", ":amount = 1", "? = 1",
    "country REGEXP '(a+)+$'", "country || country = 'x'", "current_user = 'x'",
    "payments.amount = 1", "amount > 1; DROP TABLE rules", "amount > 1 -- ", "amount > 1 /* x */",
)  # fmt: skip
_CHANGES: tuple[Callable[[str], str], ...] = (
    str, str.upper, str.swapcase, "({})".format, "NOT ({})".format, "amount > 1 AND ({})".format,
    "online OR ({})".format, "abs({}) > 1".format, "coalesce({}, 1) = 1".format,
    "CASE WHEN {} THEN 1 ELSE 2 END = 1".format, "amount IN (1, {})".format,
    "amount BETWEEN 1 AND ({})".format, "\n\t{}\n".format,
)  # fmt: skip
_EVENTS = {
    "exec", "compile", "open", "import", "os.system", "os.exec", "subprocess.Popen",
    "socket.connect", "sqlite3.connect", "ctypes.dlopen",
}  # fmt: skip


def _refusal(text: str, fields: RuleFields) -> str:
    """Return the sentence with which a rule is refused, an empty one if it is not."""
    try:
        parse(text, fields, "block")
    except RuleError as error:
        return str(error)
    except Exception:
        return ""
    return ""


def _is_sentence(text: str) -> bool:
    return 10 < len(text) < 300 and text[-1] in ".?" and "\n" not in text


def _watched_events() -> dict[str, Any]:
    """Return what Python's audit reports while `is_watching` is set; it cannot be switched off."""
    seen: dict[str, Any] = {"is_watching": False, "found": []}

    def hook(event: str, _: object) -> None:
        if seen["is_watching"] and event in _EVENTS:
            seen["found"].append(event)

    sys.addaudithook(hook)
    return seen

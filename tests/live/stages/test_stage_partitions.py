"""Partitions of stages against one process: the same features and scores, to the last bit."""

import random
import zlib

import numpy as np
import pytest

from live import desks
from toprank.live.engine.live_history import LiveHistory
from toprank.live.engine.payment_scores import Scorer
from toprank.live.messages import LabelGiven
from toprank.live.snapshots import LogPlace
from toprank.live.stages.ordered_merge import NumberedItem, OrderedMerge
from toprank.live.stages.stage_pages import StagePage
from toprank.live.stages.stage_partitions import StageModel, TakenRow
from toprank.live.store.label_table import DeskLabel

NOTHING = np.empty(0)


@pytest.fixture
def entries(later):
    """Payments and labels in the order of one stream, some payments twice."""
    drawn, found = random.Random(7), []
    for place, each in enumerate(later[:600]):
        found.append(TakenRow(0, each, NOTHING))
        if place % 40 == 39:
            found.append(found[drawn.randrange(len(found))])
        if place % 25 == 24:
            given = later[drawn.randrange(place)]
            label = LabelGiven(given.id, drawn.random() < 0.5, each.paid_at, "claim")
            found.append(label)
    return [
        NumberedItem(
            number, item if isinstance(item, LabelGiven) else item._replace(number=number)
        )
        for number, item in enumerate(found, start=1)
    ]


def by_one_process(desk, entries):
    """Features and scores by id, of a history of all features that takes everything in turn."""
    model, _ = desk.load_newest()
    history = LiveHistory(model, LogPlace())
    rows, features, seen = [], [], set()
    for number, item in entries:
        if isinstance(item, LabelGiven):
            values = item.id, "", item.is_fraud, item.known_at, item.source, "", 0, 0
            history.label([DeskLabel(number, *values)])
        elif item.payment.id not in seen:
            seen.add(item.payment.id)
            rows.append(item.payment)
            features.append(history.take_in([item.payment])[0])
    scored = Scorer(model).score(rows, np.stack(features))
    return {
        row.id: (values.tobytes(), suspicion)
        for row, values, suspicion in zip(rows, features, scored.suspicion.tolist(), strict=True)
    }


def part_of(key, n):
    return zlib.crc32(key.encode()) % n


def by_stages(desk, entries, n_terminal, n_card, seed, folder):
    """The same of partitions of two stages, whose pages are delayed at random."""
    drawn, model = random.Random(seed), StageModel(desk)
    labels = [each for each in entries if isinstance(each.item, LabelGiven)]
    pages = {}
    for place in range(n_terminal):
        partition, since = model.partition("terminal"), 0
        own = [
            each for each in entries
            if isinstance(each.item, LabelGiven)
            or part_of(each.item.payment.terminal, n_terminal) == place
        ]  # fmt: skip
        while own or since < len(entries):
            until = min(since + drawn.randrange(1, 90), len(entries))
            some = [each for each in own if each.number <= until]
            own = own[len(some) :]
            rows, features = partition.take(some)
            for card in range(n_card):
                mine = [part_of(each.payment.card, n_card) == card for each in rows]
                bodies = [
                    (row.number, row.payment.body)
                    for row, ok in zip(rows, mine, strict=True)
                    if ok
                ]
                page = StagePage(since, until, bodies, features[np.array(mine, dtype=bool)])
                pages.setdefault((place, card), []).append(page.body())
            since = until
            if drawn.random() < 0.2:  # another worker takes it over
                partition.save(folder / "terminal")
                partition = model.partition("terminal", folder / "terminal")
    found = {}
    for card in range(n_card):
        partition = model.partition("card")
        merged = OrderedMerge({**dict.fromkeys(range(n_terminal), 0), "labels": 0})
        merged.add("labels", labels, len(entries))
        waiting = {place: list(pages[place, card]) for place in range(n_terminal)}
        while any(waiting.values()):
            place = drawn.choice([place for place in waiting if waiting[place]])
            page = StagePage.of(waiting[place].pop(0))
            rows = [
                NumberedItem(number, TakenRow(number, model.payment(body), values))
                for (number, body), values in zip(page.rows, page.features, strict=True)
            ]
            merged.add(place, rows, page.until)
            taken, features = partition.take(merged.released())
            if not taken:
                continue
            whole = model.whole(np.stack([each.before for each in taken]), features)
            for row, values, (_, decided) in zip(
                taken, whole, model.decided(taken, whole), strict=True
            ):
                assert row.payment.id not in found
                found[row.payment.id] = values.tobytes(), decided["suspicion"]
            if drawn.random() < 0.2:
                partition.save(folder / "card")
                partition = model.partition("card", folder / "card")
    return found


@pytest.mark.parametrize(("n_terminal", "n_card"), [(1, 1), (2, 3), (4, 2)])
def test_stages_give_what_one_process_gives_whatever_the_delays(
    desk, entries, n_terminal, n_card, tmp_path
):
    expected = by_one_process(desk, entries)
    found = by_stages(desk, entries, n_terminal, n_card, n_card, tmp_path)
    assert found.keys() == expected.keys()
    assert found == expected


def test_the_order_of_payments_matters(desk, entries):
    """Without it the test above would prove little."""
    expected = by_one_process(desk, entries)
    swapped = [*entries[100:200], *entries[:100], *entries[200:]]
    assert by_one_process(desk, swapped) != expected


def test_a_feature_of_neither_key_is_refused(made, tmp_path):
    from toprank.payments.features import Recent, Value, default_features

    path = tmp_path / "of-countries.toprank"
    features = [*default_features("card", "terminal", "amount"), Recent("count", "country", "1d")]
    assert Value("amount") in features
    desks.fitted_model(made[0], path, features=features)
    with (
        desks.new_desk(tmp_path / "desk", path) as desk,
        pytest.raises(ValueError, match=r"country_count_1d.*counts country"),
    ):
        StageModel(desk)

"""A stream in a process of its own, which saves it every now and then, and is killed."""

from pathlib import Path

import numpy as np

from toprank import EventStream, StreamRanker, load, save

SAVED_EVERY = 37  # rows; refits are due every 100 labels or more, and take over 10 labels later
DELAY = 25  # rows until a label comes


def run(path, n_rows):
    """Score rows and learn from late labels, from where the file says on.

    Return the rows at which it was saved in the middle of a refit.
    """
    path, refitting = Path(path), []
    stream = load(path) if path.exists() else _fresh()
    rows, labels = _drawn(n_rows)
    for number in range(stream.position.get("row", 0), n_rows):
        stream.score(rows[number], number)
        if number >= DELAY:
            stream.label(number - DELAY, labels[number - DELAY])
        if number % SAVED_EVERY == 0 or number == n_rows - 1:
            stream.position = {"row": number + 1}
            save(stream, path)
            if stream.learner.model_.is_refitting:
                refitting.append(number + 1)
    return refitting


def _fresh():
    ranker = StreamRanker(
        n_estimators=20, max_depth=3, least_refit=100, most_positives=200, most_negatives=400,
        memory="by-age", span=300, n_buckets=64,
    )  # fmt: skip
    return EventStream(ranker, window=500)


def _drawn(n_rows):
    random = np.random.default_rng(0)
    is_fraud = random.random(n_rows) < 0.1
    amount = random.normal(2.0 * is_fraud)
    country = random.choice(["FR", "DE", "US"], n_rows)
    rows = [{"amount": float(a), "country": str(c)} for a, c in zip(amount, country, strict=True)]
    return rows, is_fraud.tolist()

"""Files that version 0.1 wrote load, and score as they did there."""

from pathlib import Path

import numpy as np
import pytest

from toprank import AnomalyForest, AutoRanker, BoostedRanker, RankForest, load
from toprank.model_file import read_manifest

FILES = Path(__file__).parent / "written_by_0_1"
LEARNERS = {
    "anomaly-forest": AnomalyForest,  # made there as RankForest(AnomalyTreeRank())
    "auto": AutoRanker,  # which had no losses to choose
    "boosted": BoostedRanker,  # of the default loss of then, ap-exp
    "rank-forest": RankForest,
}


@pytest.mark.parametrize("name", LEARNERS)
def test_a_file_of_the_version_before_loads_and_scores_as_it_did(name):
    path = FILES / f"{name}.toprank"
    ranker, facts = load(path), read_manifest(path)["facts"]

    assert type(ranker) is LEARNERS[name]
    assert np.allclose(ranker.suspicion(np.array(facts["rows"])), facts["suspicion"], rtol=1e-6)


def test_a_default_that_changed_since_does_not_change_what_was_saved():
    assert BoostedRanker().loss == "log"
    assert load(FILES / "boosted.toprank").loss == "ap-exp"
    assert load(FILES / "auto.toprank").losses is None

"""What is known of the public sets: their size, what a positive is, which columns are what."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

_NONE: Mapping[str, str] = MappingProxyType({})
_KEEL = "the class KEEL calls positive"
_ANOMALY = "marked as an anomaly by ADBench"
_ATTACK = "an attack, label != normal"


class KnownSet(NamedTuple):
    """What a set must hold, and what its columns and its positives are."""

    n_rows: int | None = None
    n_positive: int | None = None
    positive: str = "y == 1"
    metadata: tuple[str, ...] = ()  # in addition to `label`, which is never a feature
    roles: Mapping[str, str] = _NONE


def known_of(name: str) -> KnownSet:
    """Return what is known of a set, which of most names is nothing.

    >>> known_of("metaap_pima").n_rows
    768
    """
    if name in KNOWN:
        return KNOWN[name]
    return KnownSet(positive=_KEEL) if name.startswith("keel_") else KnownSet()


KNOWN: Mapping[str, KnownSet] = {
    # Payments
    "ulb_creditcard": KnownSet(
        284_807, 492, "a fraud", roles={"time": "Time", "amount": "Amount"}
    ),
    "handbook_transactions": KnownSet(
        1_754_155,
        14_681,
        "a fraud (simulated)",
        metadata=("TRANSACTION_ID",),
        roles={
            "time": "TX_DATETIME",
            "seconds": "TX_TIME_SECONDS",
            "day": "TX_TIME_DAYS",
            "card": "CUSTOMER_ID",
            "terminal": "TERMINAL_ID",
            "amount": "TX_AMOUNT",
        },
    ),
    # The paper on boosting for average precision
    "sgbap_breast_cancer": KnownSet(286, 85, "the cancer came back"),
    "sgbap_hiv": KnownSet(3_272, 434, "cleaved"),
    "sgbap_heart_cleveland": KnownSet(303, 13, "num == 4"),
    "sgbap_w8a_train": KnownSet(49_749, 1_479, "label +1"),
    # The paper on MetaAP
    "metaap_abalone20": KnownSet(4_177, 26, "Rings == 20"),
    "metaap_yeast6": KnownSet(1_484, 35, "class EXC"),
    "metaap_satimage": KnownSet(6_435, 626, "class 4, damp grey soil"),
    "metaap_pageblocks": KnownSet(5_473, 560, "class != 1, not text"),
    "metaap_bankmarketing": KnownSet(45_211, 5_289, "a term deposit was subscribed"),
    "metaap_abalone8": KnownSet(4_177, 568, "Rings == 8"),
    "metaap_segmentation": KnownSet(2_310, 330, "class WINDOW"),
    "metaap_hayes": KnownSet(132, 30, "class 3"),
    "metaap_newthyroid": KnownSet(215, 65, "class 2 or 3, hyper or hypo"),
    "metaap_glass": KnownSet(214, 70, "type 1, float-processed building windows"),
    "metaap_wine": KnownSet(178, 59, "class 1"),
    "metaap_pima": KnownSet(768, 268, "diabetes"),
    "metaap_iono": KnownSet(351, 126, "class b, bad"),
    "metaap_wdbc": KnownSet(569, 212, "malignant"),
    "metaap_autompg": KnownSet(392, 147, "from Europe or Japan"),
    "metaap_bupa": KnownSet(345, 145, "selector == 1"),
    "metaap_heart": KnownSet(270, 120, "disease present"),
    "metaap_australian": KnownSet(690, 307, "class 1"),
    "metaap_balance": KnownSet(625, 288, "class L, tips to the left"),
    # KEEL
    "keel_abalone-20_vs_8-9-10": KnownSet(1_916, 26, _KEEL),
    "keel_winequality-red-3_vs_5": KnownSet(691, 10, _KEEL),
    "keel_winequality-white-3-9_vs_5": KnownSet(1_482, 25, _KEEL),
    "keel_winequality-red-8_vs_6-7": KnownSet(855, 18, _KEEL),
    "keel_abalone-17_vs_7-8-9-10": KnownSet(2_338, 58, _KEEL),
    "keel_kr-vs-k-three_vs_eleven": KnownSet(2_935, 81, _KEEL),
    "keel_yeast5": KnownSet(1_484, 44, _KEEL),
    "keel_winequality-white-9_vs_4": KnownSet(168, 5, _KEEL),
    "keel_yeast-1-2-8-9_vs_7": KnownSet(947, 30, _KEEL),
    "keel_poker-9_vs_7": KnownSet(244, 8, _KEEL),
    "keel_glass-0-1-6_vs_5": KnownSet(184, 9, _KEEL),
    "keel_abalone9-18": KnownSet(731, 42, _KEEL),
    "keel_glass4": KnownSet(214, 13, _KEEL),
    "keel_yeast-0-5-6-7-9_vs_4": KnownSet(528, 51, _KEEL),
    "keel_ecoli-0-1_vs_2-3-5": KnownSet(244, 24, _KEEL),
    "keel_yeast-2_vs_4": KnownSet(514, 51, _KEEL),
    # Online boosting
    "onlb_hiv": KnownSet(6_590, 1_360, "cleaved", metadata=("subset",)),
    "onlb_adult": KnownSet(48_842, 11_687, "income above 50K", metadata=("part",)),
    "onlb_shuttle": KnownSet(58_000, 12_414, "class != 1", metadata=("part",)),
    "onlb_wine": KnownSet(6_497, 1_277, "quality of 7 or more"),
    "onlb_abalone": KnownSet(4_177, 2_081, "10 rings or more"),
    "onlb_covtype": KnownSet(581_012, 283_301, "Cover_Type == 2"),
    "onlb_mnist": KnownSet(70_000, 34_265, "digit from 5 to 9", metadata=("part",)),
    "onlb_poker_train": KnownSet(25_010, 12_517, "any hand but 0, nothing"),
    # Intrusions
    "kdd99_10pct": KnownSet(494_021, 396_743, _ATTACK),
    "kdd99_test_corrected": KnownSet(311_029, 250_436, _ATTACK),
    "nslkdd_test": KnownSet(22_544, 12_833, _ATTACK, metadata=("difficulty",)),
    "nslkdd_train": KnownSet(125_973, 58_630, _ATTACK),
    # ADBench
    "adbench_annthyroid": KnownSet(7_200, 534, _ANOMALY),
    "adbench_campaign": KnownSet(41_188, 4_640, _ANOMALY),
    "adbench_celeba": KnownSet(202_599, 4_547, _ANOMALY),
    "adbench_cover": KnownSet(286_048, 2_747, _ANOMALY),
    "adbench_http": KnownSet(567_498, 2_211, _ANOMALY),
    "adbench_mammography": KnownSet(11_183, 260, _ANOMALY),
    "adbench_satellite": KnownSet(6_435, 2_036, _ANOMALY),
    "adbench_shuttle": KnownSet(49_097, 3_511, _ANOMALY),
    "adbench_smtp": KnownSet(95_156, 30, _ANOMALY),
    "adbench_thyroid": KnownSet(3_772, 93, _ANOMALY),
    # OpenML and scikit-learn
    "openml_satellite": KnownSet(5_100, 75, "cotton crop or vegetation stubble among soils"),
    "sklearn_breast_cancer": KnownSet(569, 212, "malignant"),
    "sklearn_wine_2": KnownSet(178, 48, "class 2"),
    "sklearn_digits_8": KnownSet(1_797, 174, "the digit 8"),
}

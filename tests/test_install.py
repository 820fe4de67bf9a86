"""The package builds, and the wheel alone fits and ranks in an empty environment."""

import csv
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from email.parser import Parser
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
NOT_COPIED = shutil.ignore_patterns(
    ".git", ".venv", "build", "dist", "demo-output", "__pycache__", "*.egg-info", ".*_cache",
    ".hypothesis",
)  # fmt: skip


def run(*words, folder):
    """What a command prints; it must succeed, and sees nothing of this test's environment."""
    kept = {name: os.environ[name] for name in os.environ if not name.startswith("PYTHON")}
    done = subprocess.run(words, cwd=folder, env=kept, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_licence_is_the_one_that_the_metadata_name():
    text = (ROOT / "LICENSE").read_text()
    assert text.startswith("BSD 3-Clause License")
    assert "the toprank contributors" in text
    assert PROJECT["license"] == "BSD-3-Clause"
    assert PROJECT["license-files"] == ["LICENSE"]


def test_xgboost_is_required_once_on_every_platform():
    required = [each for each in PROJECT["dependencies"] if each.startswith("xgboost")]
    on = dict(each.split("; ") for each in required)
    (small,) = [marker for name, marker in on.items() if name.startswith("xgboost-cpu")]
    (macos,) = [marker for name, marker in on.items() if not name.startswith("xgboost-cpu")]
    assert (small, macos) == ("sys_platform != 'darwin'", "sys_platform == 'darwin'")
    versions = {re.sub("^[a-z-]+", "", name) for name in on}
    assert len(versions) == 1, "both builds of the same versions"


def test_every_pinned_version_is_one_that_the_metadata_allow():
    from packaging.requirements import Requirement

    pins = dict(
        line.split("==") for line in (ROOT / "constraints.txt").read_text().splitlines()[1:]
    )
    pins = {re.sub(r"[-_.]+", "-", name).lower(): version for name, version in pins.items()}
    extras = PROJECT["optional-dependencies"]
    named = [
        *PROJECT["dependencies"],
        *(each for extra, group in extras.items() if extra != "keel" for each in group),
    ]
    for requirement in map(Requirement, named):
        if requirement.name != "toprank":
            assert requirement.specifier.contains(pins[requirement.name]), requirement


class TestDockerfile:
    LINES = (ROOT / "Dockerfile").read_text().splitlines()

    def test_what_it_copies_is_there_and_not_ignored(self):
        ignored = (ROOT / ".dockerignore").read_text().split()
        assert ignored[0] == "*", "all is ignored but what is named"
        sent = {each.removeprefix("!") for each in ignored if each.startswith("!")}
        copied = {
            source
            for line in self.LINES
            if line.startswith("COPY ") and "--from" not in line
            for source in line.split()[1:-1]
        }
        assert copied == sent
        for source in copied:
            assert (ROOT / source).exists(), source

    def test_the_command_runs_as_a_user_without_rights(self):
        last_stage = self.LINES[
            max(i for i, line in enumerate(self.LINES) if line[:5] == "FROM ") :
        ]
        orders = [line.split()[0] for line in last_stage if re.match("[A-Z]+ ", line)]
        assert 'ENTRYPOINT ["toprank"]' in last_stage
        assert "USER toprank" in last_stage
        assert orders.index("USER") < orders.index("ENTRYPOINT")

    def test_its_python_is_one_that_the_metadata_name(self):
        (version,) = set(re.findall(r"^FROM python:([\d.]+)-slim", "\n".join(self.LINES), re.M))
        assert f"Programming Language :: Python :: {version}" in PROJECT["classifiers"]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The wheel and the sdist, built from a copy, so that the tree stays clean."""
    folder = tmp_path_factory.mktemp("build")
    shutil.copytree(ROOT, folder / "source", ignore=NOT_COPIED)
    run(sys.executable, "-m", "build", "--outdir", folder / "dist", "source", folder=folder)
    (wheel,) = (folder / "dist").glob("*.whl")
    (sdist,) = (folder / "dist").glob("*.tar.gz")
    return wheel, sdist


@pytest.mark.slow
def test_twine_finds_nothing_wrong(built):
    said = run(sys.executable, "-m", "twine", "check", "--strict", *built, folder=ROOT)
    assert said.count("PASSED") == 2


@pytest.mark.slow
def test_the_wheel_has_the_package_its_licence_and_nothing_else(built):
    names = zipfile.ZipFile(built[0]).namelist()
    outside = {name for name in names if not name.startswith("toprank/")}
    assert {"toprank/py.typed", "toprank/cli/fit.py"} < set(names)
    assert any(name.startswith("toprank/") and name.endswith(".css") for name in names)
    assert all(re.match(r"toprank-[\d.]+\.dist-info/", name) for name in outside)
    assert any(name.endswith("licenses/LICENSE") for name in outside)
    assert not [name for name in names if re.search(r"(^|/)(test_|conftest|__pycache__)", name)]

    with zipfile.ZipFile(built[0]) as wheel:
        (path,) = [name for name in outside if name.endswith("/METADATA")]
        metadata = Parser().parsestr(wheel.read(path).decode())
    assert metadata["License-Expression"] == "BSD-3-Clause"
    assert metadata["Author"] == "the toprank contributors"
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert metadata["Summary"] and metadata["Keywords"]


@pytest.mark.slow
def test_the_sdist_builds_the_package_and_carries_no_tests_or_results(built):
    with tarfile.open(built[1]) as sdist:
        tops = {Path(name).parts[1] for name in sdist.getnames() if len(Path(name).parts) > 1}
    assert {"LICENSE", "README.md", "CHANGELOG.md", "pyproject.toml", "src"} <= tops
    assert not tops & {"tests", "docs", "bench", "benchmarks"}


@pytest.mark.slow
def test_the_wheel_alone_runs_fit_rank_and_demo_in_an_empty_environment(built, tmp_path):
    venv.create(tmp_path / "empty")
    bin_folder = tmp_path / "empty" / ("Scripts" if os.name == "nt" else "bin")
    python, toprank = bin_folder / "python", bin_folder / "toprank"
    pip = (sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check")
    run(
        *pip, "install", "--quiet", "--no-compile", "--constraint", ROOT / "constraints.txt",
        built[0], folder=tmp_path,
    )  # fmt: skip
    run(*pip, "check", folder=tmp_path)
    write_payments(tmp_path / "payments.csv")
    write_payments(tmp_path / "today.csv")

    versions = run(toprank, "--version", folder=tmp_path)
    assert versions.startswith("toprank ") and "xgboost" in versions
    run(
        toprank, "fit", "payments.csv", "--label", "is_fraud", "--time", "paid_at",
        "--trees", "20", "--minutes", "0.01", "-o", "my.toprank", folder=tmp_path,
    )  # fmt: skip
    assert "<svg" in (tmp_path / "my.html").read_text()
    run(toprank, "rank", "my.toprank", "today.csv", "-k", "7", "-o", "a.csv", folder=tmp_path)
    assert len((tmp_path / "a.csv").read_text().splitlines()) == 1 + 7
    before = seconds_of_processes()
    assert "alerts of the last day" in run(toprank, "demo", folder=tmp_path)
    assert seconds_of_processes() - before < 60


def seconds_of_processes():
    """The processor's time that ended processes of this one took, however busy the machine is."""
    used = os.times()
    return used.children_user + used.children_system


def write_payments(path, n_rows=3000):
    """Payments of which every fiftieth is a fraud and, mostly, large."""
    rng = np.random.default_rng(0)
    is_fraud = np.arange(n_rows) % 50 == 0
    amount = rng.lognormal(np.where(is_fraud, 5, 3))
    days = np.datetime64("2026-01-01T00:00") + np.arange(n_rows) * np.timedelta64(20, "m")
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["paid_at", "amount", "is_fraud"])
        rows.writerows(zip(days, amount.round(2), is_fraud.astype(int), strict=True))

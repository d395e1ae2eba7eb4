"""`discreet verify` and `account --export`: what is handed on can be checked, and only what is true."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from discreet import Certificate, account, load
from discreet.reports import export as export_module

DELTA = "1e-10"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("made") / "certificate.json"
    path.write_text(Certificate.of([load("pl94-2020-units")], delta=DELTA).to_text())
    return path


# -- export -------------------------------------------------------------------------------------------


def test_an_export_is_complete(discreet, small, tmp_path):
    out = tmp_path / "out"
    result = discreet("account", small, "--delta", DELTA, "--epsilon", "4", "--export", out, "--json")
    assert result.status == 0
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["format"] == "discreet export 1"
    names = [one["name"] for one in manifest["files"] + manifest["certificates"]]
    written = {str(path.relative_to(out)) for path in out.rglob("*") if path.is_file()}
    assert written == {*names, "manifest.json", "README.md"}
    for one in manifest["files"] + manifest["certificates"]:
        assert hashlib.sha256((out / one["name"]).read_bytes()).hexdigest() == one["sha256"]
    assert sorted(names) == [
        "certificates/beta-at-alpha-0.05.json",
        "certificates/delta-at-epsilon-4.json",
        "certificates/epsilon-at-delta-1e-10.json",
        "profiles.parquet",
        "tradeoffs.parquet",
    ]
    for row, key in zip(result.json["results"], ("epsilon", "delta"), strict=True):
        (name,) = [n for n in names if n.startswith(f"certificates/{key}-at")]
        claim = json.loads((out / name).read_text())["claim"]
        assert float(claim["lower"]) <= row[key] <= float(claim["upper"])
        assert discreet("verify", out / name, "--quiet").status == 0
    result = discreet("verify", out / "certificates/beta-at-alpha-0.05.json", "--quiet")
    assert result.status == 0
    assert "The trade-off curve f at 0.05 lies between" in result.out


def test_the_tables_are_tidy_and_those_of_the_accountant(discreet, small, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet", reason="needs pyarrow: install the extra `test`")
    out = tmp_path / "out"
    assert discreet("account", small, "--delta", DELTA, "--export", out, "--quiet").status == 0
    whole = account(load(small))
    profiles = parquet.read_table(out / "profiles.parquet")
    assert [str(field.type).split("<")[0] for field in profiles.schema] == [
        "dictionary",
        "double",
        "double",
        "double",
    ]
    assert all(field.metadata[b"means"] for field in profiles.schema)
    by_pair: dict[str, list[dict[str, Any]]] = {}
    for row in profiles.to_pylist():
        by_pair.setdefault(row["pair"], []).append(row)
    assert list(by_pair) == ["(1, 1)", "(1, 2)", "(2, 2)"]
    curves: dict[str, list[dict[str, Any]]] = {}
    for row in parquet.read_table(out / "tradeoffs.parquet").to_pylist():
        curves.setdefault(row["pair"], []).append(row)
    for label, _ in whole.cases:
        loss = whole.case(label)
        rows = by_pair[str(label)]
        assert [row["delta"] for row in rows] == pytest.approx(
            list(loss.delta(epsilon=[row["epsilon"] for row in rows])), rel=1e-12
        )
        rows = curves[str(label)]
        assert [row["beta"] for row in rows] == pytest.approx(
            list(loss.tradeoff(alpha=[row["alpha"] for row in rows])), rel=1e-12
        )
        assert all(row["accuracy"] < 1e-9 for row in rows)


def test_a_single_pair_can_be_exported(discreet, small, tmp_path):
    out = tmp_path / "out"
    assert discreet("account", small, "--pair", 1, 2, "--delta", DELTA, "--export", out).status == 0
    result = discreet("verify", out / "certificates" / "epsilon-at-delta-1e-10.json", "--json")
    assert (result.status, result.json["pairs"], result.json["verdict"]) == (0, 1, "proved")
    assert result.json["says"].endswith(
        "Only case (1, 2) is meant, one of 3 cases: nothing is said of the others."
    )
    assert result.json["cases"] == {"taken": [1, 2], "of": 3}


def test_nothing_is_overwritten(discreet, refused, small, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (out / "mine.txt").write_text("mine")
    assert "not empty" in refused("account", small, "--export", out)
    assert [path.name for path in out.iterdir()] == ["mine.txt"]
    assert "cannot hold the output" in refused("account", small, "--export", tmp_path / "no" / "place")


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError(28, "No space left on device")])
def test_an_interrupted_export_leaves_nothing(discreet, small, tmp_path, monkeypatch, error):
    def stop(*_: object) -> None:
        raise error

    monkeypatch.setattr(export_module, "sha256", stop)
    result = discreet("account", small, "--delta", DELTA, "--export", tmp_path / "out", "--quiet")
    assert result.status in (130, 2)
    assert [path.name for path in tmp_path.iterdir()] == ["small.toml"]


@pytest.mark.slow
def test_refused_points_are_empty_not_wrong(small, tmp_path, monkeypatch):
    from discreet.accounting.privacy_loss import PrivacyLoss
    from discreet.errors import PrecisionError

    ask = PrivacyLoss.tradeoff

    def hard(self: PrivacyLoss, *, alpha: Any) -> Any:
        if not isinstance(alpha, float) or alpha == 0.1:
            raise PrecisionError("hard")
        return ask(self, alpha=alpha)

    monkeypatch.setattr(PrivacyLoss, "tradeoff", hard)
    export_module.write_export(account(load(small)), [load(small)], tmp_path / "out", {})
    files = json.loads((tmp_path / "out" / "manifest.json").read_text())["files"]
    assert [one["refused"] for one in files] == [0, 3]


# -- verify -------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_certificate_is_proved(discreet, certificate):
    result = discreet("verify", certificate)
    assert result.status == 0
    assert "Proved. All 36 cases" in result.out
    assert "Note: An upper bound" in result.out
    assert "Time:" in result.err


@pytest.mark.parametrize(
    ("epsilon", "status", "verdict"),
    [pytest.param("2.3633", 0, "proved", marks=pytest.mark.slow), ("2.3632", 1, "undecided")],
)
def test_a_claim_on_the_command_line(discreet, epsilon, status, verdict):
    result = discreet("verify", "pl94-2020-units", "--epsilon", epsilon, "--delta", DELTA, "--json")
    assert (result.status, result.json["verdict"]) == (status, verdict)
    witness = result.json["witness"]
    assert (float(witness["delta"]["lower"]) > 1e-10) == (verdict != "proved")
    # which paths occur has not been published: that one of them would break the promise decides nothing
    assert ("the release may keep the promise" in result.json["reason"]) == (verdict == "undecided")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("claim.toml", 'releases = ["small.toml"]\nepsilon = 9.5\ndelta = 1e-10\n'),
        (
            "claim.toml",
            'releases = "small.toml"\nepsilon = "19/2"\ndelta = "1e-10"\nneighbours = "bounded"\n',
        ),
        ("claim.json", '{"releases": ["small.toml"], "epsilon": 9.5, "delta": 1e-10, "people": 1}'),
    ],
)
def test_a_claim_in_a_file(discreet, small, tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text)
    result = discreet("verify", path, "--quiet")
    assert (result.status, result.err) == (0, "")
    path.write_text(text.replace("9.5", "7.5").replace("19/2", "15/2"))
    assert discreet("verify", path, "--quiet").status == 1


def test_a_claim_of_errors(discreet, refused, small, tmp_path):
    truth = account(load(small)).tradeoff(alpha="0.05")
    for beta, status, verdict in ((0.999 * truth, 0, "proved"), (1.001 * truth, 1, "refuted")):
        result = discreet("verify", small, "--alpha", "0.05", "--beta", f"{beta:.12f}", "--json")
        assert (result.status, result.json["verdict"]) == (status, verdict)
    claim = tmp_path / "claim.toml"
    claim.write_text('releases = ["small.toml"]\nalpha = 0.05\nbeta = 0.01\n')
    result = discreet("verify", claim, "--quiet")
    assert result.status == 0
    assert "At a type I error of 0.05 the type II error is at least 0.01." in " ".join(result.out.split())
    claim.write_text('releases = ["small.toml"]\nalpha = 0.05\ndelta = 0.01\n')
    assert "neither a certificate nor a claim" in refused("verify", claim)
    assert "go together" in refused("verify", small, "--alpha", "0.05")
    assert "go together" in refused("verify", small, "--alpha", "0.05", "--delta", "1e-5")
    assert "strictly between" in refused("verify", small, "--alpha", "1", "--beta", "0")
    assert "beta is 2" in refused("verify", small, "--alpha", "0.05", "--beta", "2")


def test_an_export_without_a_certified_trade_off_says_so(small, tmp_path, monkeypatch):
    from discreet.accounting.account import Account
    from discreet.errors import PrecisionError

    def hard(self: Account, **_: Any) -> Any:
        raise PrecisionError("too hard")

    monkeypatch.setattr(Account, "tradeoff", hard)
    export_module.write_export(account(load(small)), [load(small)], tmp_path / "out", {})
    assert "could not be certified: too hard" in (tmp_path / "out" / "README.md").read_text()
    assert not list((tmp_path / "out" / "certificates").iterdir())


def test_a_certificate_of_format_1_is_read_and_never_proved(discreet):
    result = discreet("verify", Path(__file__).parent / "samples" / "certificate-1.json", "--json")
    assert (result.status, result.json["verdict"]) == (1, "undecided")
    assert result.json["reason"].startswith("Scope not stated: the numbers hold in the cases taken")


def test_several_releases_together(discreet, small, tmp_path):
    other = tmp_path / "other.toml"
    other.write_text(small.read_text().replace('"small"', '"other"'))
    claim = ("--delta", DELTA, "--json", "--epsilon")
    result = discreet("verify", small, other, *claim, "13")
    assert (result.status, result.json["verdict"], result.json["pairs"]) == (0, "proved", 3)
    assert discreet("verify", small, other, *claim, "11").status == 1


def test_bad_input_is_refused_in_one_line(refused, certificate, small, tmp_path):
    def file(text: str | bytes) -> Path:
        path = tmp_path / "bad.json"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    whole = certificate.read_text()
    assert "not valid JSON" in refused("verify", file(whole[: len(whole) // 2]))
    assert "was changed" in refused("verify", file(whole.replace("1/10000000000", "1/1000000000")))
    assert "was changed" in refused("verify", file(whole.replace('"housing unit"', '"person"', 1)))
    assert "certificate 9" in refused("verify", file(whole.replace("certificate 2", "certificate 9")))
    assert "neither a certificate nor a claim" in refused("verify", small)
    assert "larger than" in refused("verify", file(b" " * 10_000_001))
    assert "is a directory" in refused("verify", tmp_path)
    assert "there is no file" in refused("verify", tmp_path / "none.json")
    assert "go together" in refused("verify", small, "--epsilon", 1)
    assert "go together" in refused("verify", small, "--delta", "1e-9")
    assert "strictly between" in refused("verify", small, "--epsilon", 1, "--delta", 2)
    assert "zero or more" in refused("verify", small, "--epsilon", "-1", "--delta", "1e-9")
    assert "exact number" in refused("verify", small, "--epsilon", "nan", "--delta", "1e-9")
    assert "its own neighbours" in refused("verify", certificate, "--neighbours", "bounded")
    assert "needs one certificate" in refused("verify")
    assert "needs one certificate" in refused("verify", certificate, certificate)

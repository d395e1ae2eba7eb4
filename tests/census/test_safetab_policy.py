"""Policies bind runs on detailed groups: without noise, again, by links, and the curator's report."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from safetab_toy import DATA, TOY

from discreet.census.safetab.curator import curate
from discreet.census.safetab.run import run
from discreet.census.safetab.run_plan import Options
from discreet.ledger import PolicyError, create_ledger, policy, read_ledger
from discreet.ledger.policy import current_user

EXACT = Options(no_noise=True, coterminous=False)


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(policy, "MACHINE", tmp_path / "machine")
    folder = tmp_path / "data"
    folder.mkdir()
    for file in DATA.iterdir():
        if file.is_file():
            shutil.copy(file, folder)
    return folder


@pytest.fixture
def params(tmp_path: Path) -> Path:
    """Noise for the nation, of rho 1/10."""
    folder = tmp_path / "params"
    shutil.copytree(TOY, folder)
    config = json.loads((TOY / "config.json").read_text())
    budgets = {key: 0.1 * key.endswith("1_usa") for key in config if key.startswith("privacy_budget_p_level")}
    (folder / "config.json").write_text(json.dumps({**config, **budgets, "run_pr": False}))
    return folder


@pytest.fixture
def exact(params: Path) -> Path:
    """No noise for the nation, and nothing else."""
    file = params / "config.json"
    config = json.loads(file.read_text())
    unlimited = json.loads((TOY / "config.json").read_text())
    budgets = {key: unlimited[key] for key in config if key.endswith("level_1_usa")}
    file.write_text(json.dumps({**config, **budgets}))
    return params


def rules(folder: Path, text: str) -> None:
    (folder / "discreet-policy.toml").write_text(f'format = "discreet policy 1"\n{text}\n')


def test_without_noise(tmp_path: Path, data: Path, exact: Path) -> None:
    rules(data, 'may.no_noise = ["nobody-of-this-name"]')
    with pytest.raises(PolicyError, match=r"rule may\.no_noise of the policy .* you are"):
        run(exact, data, tmp_path / "out", options=EXACT)
    create_ledger(data / "discreet-ledger.json")
    rules(data, "ledger.required = true")
    with pytest.raises(Exception, match="is to be entered in a ledger"):
        run(exact, data, tmp_path / "out", options=EXACT)
    # whoever is allowed needs no ledger: what has no noise has no cost to enter
    rules(data, f'ledger.required = true\nmay.no_noise = ["{current_user().name}"]')
    assert run(exact, data, tmp_path / "out", options=EXACT).ledger is None
    (data / "discreet-ledger.json").unlink()
    (tmp_path / "discreet-policy.toml").write_text('format = "discreet policy 1"\nledger.required = true\n')
    with pytest.raises(
        PolicyError, match=r"rule ledger\.required of the policy"
    ):  # another does not allow it
        run(exact, data, tmp_path / "again", options=EXACT)


def test_a_folder_of_links_does_not_hide_the_ledger(tmp_path: Path, data: Path, params: Path) -> None:
    create_ledger(data / "discreet-ledger.json")
    assert run(params, data, tmp_path / "out").ledger == data / "discreet-ledger.json"
    links = tmp_path / "links"
    links.mkdir()
    for file in data.glob("*.txt"):
        (links / file.name).symlink_to(file)
    with pytest.raises(Exception, match="this input was released before"):  # with no policy at all
        run(params, links, tmp_path / "second")
    rules(data, 'may.spend_again = "never"')
    with pytest.raises(PolicyError, match=r"rule may\.spend_again"):
        run(params, links, tmp_path / "second", spend_again=True)
    assert len(read_ledger(data / "discreet-ledger.json").entries) == 1


def test_limits_of_a_run(tmp_path: Path, data: Path, params: Path) -> None:
    limit = '[[largest_run]]\nunit = "person"\nneighbours = "unbounded"\nrho = "{}"'
    rules(data, limit.format("1/100"))
    with pytest.raises(PolicyError, match=r"rule largest_run .* more than the rho 1/100 that one run may"):
        run(params, data, tmp_path / "out")
    rules(data, limit.format("10"))
    run(params, data, tmp_path / "out")


def test_the_report_of_the_curator_is_for_those_who_may(tmp_path: Path, data: Path, params: Path) -> None:
    rules(data, 'may.exact_counts = "never"')
    with pytest.raises(PolicyError, match=r"rule may\.exact_counts"):
        curate(params, data, tmp_path / "out")

"""What is handed on: wheel and sdist, installed in clean environments, and the files about the project."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

from discreet import __version__

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PYTHONS = ("3.11", "3.12", "3.13", "3.14")

ASK = """
import discreet
from discreet.budget.presets import preset_names
assert "site-packages" in discreet.__file__, discreet.__file__
for name in preset_names():
    discreet.load(name)
print(discreet.__version__)
"""


def build(place: Path, source: Path = ROOT) -> tuple[Path, Path]:
    """Build wheel and sdist of a source tree, into a folder."""
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(place)]
    subprocess.run(command, cwd=source, check=True, capture_output=True, timeout=240)
    (wheel,), (sdist,) = place.glob("*.whl"), place.glob("*.tar.gz")
    return wheel, sdist


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return build(tmp_path_factory.mktemp("dist"))


def contents(wheel: Path) -> dict[str, str]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: hashlib.sha256(archive.read(name)).hexdigest() for name in archive.namelist()}


@pytest.mark.slow
def test_the_wheel_has_every_file_of_the_package(built: tuple[Path, Path]) -> None:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "src/discreet"],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    if listed.returncode:
        pytest.skip("needs a git checkout, to know which files are the package's")
    found = contents(built[0])
    for name in listed.stdout.split():
        wanted = hashlib.sha256((ROOT / name).read_bytes()).hexdigest()
        assert found.get(name.removeprefix("src/")) == wanted, name
    for ending in ("presets/dhc-2020-persons.toml", "studies.toml", "style.css", "page.js", "py.typed"):
        assert any(name.endswith(ending) for name in found), ending
    assert not [name for name in found if name.startswith(("tests/", "docs/"))]


@pytest.mark.slow
def test_the_sdist_builds_the_same_wheel(built: tuple[Path, Path], tmp_path: Path) -> None:
    wheel, sdist = built
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    (source,) = tmp_path.iterdir()
    again, _ = build(tmp_path / "dist", source)
    assert contents(again) == contents(wheel)
    for needed in ("Makefile", "docs/site/zensical.toml", "requirements/docs.txt", "tests/test_site.py"):
        assert (source / needed).is_file(), needed


def interpreter(version: str) -> str | None:
    """A Python of this version, if one is at hand: by its name, or where pyenv keeps them."""
    home = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    kept = sorted(str(path) for path in home.glob(f"{version}.*/bin/python{version}"))
    for name in filter(None, [shutil.which(f"python{version}"), *kept]):
        asked = subprocess.run([name, "-c", "import venv, ensurepip"], capture_output=True)
        if asked.returncode == 0:
            return name
    return None


@pytest.mark.slow
@pytest.mark.parametrize("version", PYTHONS)
@pytest.mark.parametrize("kind", ["wheel", "sdist"])
def test_installed_in_a_clean_environment(
    built: tuple[Path, Path], tmp_path: Path, kind: str, version: str
) -> None:
    if kind == "sdist" and version != PYTHONS[0]:
        pytest.skip("the sdist builds the same wheel: one version will do")
    python = interpreter(version)
    if python is None:
        pytest.skip(f"there is no Python {version} at hand")
    clean = {key: text for key, text in os.environ.items() if not key.startswith(("PYTHON", "VIRTUAL"))}

    def run(*words: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            words, cwd=tmp_path, env=clean, text=True, encoding="utf-8", capture_output=True, timeout=280
        )

    assert run(python, "-m", "venv", "clean").returncode == 0
    home = tmp_path / "clean" / ("Scripts" if os.name == "nt" else "bin")
    installed = run(home / "python", "-m", "pip", "install", "--quiet", built[kind == "sdist"])
    if installed.returncode and re.search(
        "No matching distribution|onnection|resolve host", installed.stderr
    ):
        pytest.skip("its requirements cannot be fetched here")
    assert installed.returncode == 0, installed.stderr
    asked = run(home / "python", "-c", ASK)
    assert asked.stdout.strip() == __version__, asked.stderr
    said = run(home / "discreet", "account", "pl94-2020-units", "--delta", "1e-10", "--quiet")
    assert (said.returncode, said.stderr) == (0, "")
    assert "pl94-2020-units" in said.stdout
    refused = run(home / "discreet", "measure", "a.toml", "--counts", "a.csv", "--out", "out", "--no-ledger")
    assert refused.returncode == 2
    assert "not installed" in refused.stderr or "a.toml" in refused.stderr


# -- files about the project ---------------------------------------------------------------------------------

YAML = [
    ROOT / ".pre-commit-config.yaml",
    ROOT / "conda" / "recipe.yaml",
    *sorted(ROOT.glob(".github/*/*.yml")),
]


@pytest.mark.parametrize("file", YAML, ids=lambda file: file.name)
def test_yaml_is_valid(file: Path) -> None:
    read = yaml.safe_load(file.read_text(encoding="utf-8"))
    assert isinstance(read, dict)
    if file.parent.name == "workflows":
        assert file.read_text(encoding="utf-8").startswith("# Not yet run")
        assert read["permissions"] == {"contents": "read"}
        for job in read["jobs"].values():
            assert {"runs-on", "steps"} <= set(job)
            for step in job["steps"]:
                assert ("uses" in step) != ("run" in step)
                assert re.fullmatch(r"[\w.-]+/[\w.-]+@[\w./-]+", step.get("uses", "a/b@c"))
    if file.parent.name == "ISSUE_TEMPLATE" and file.name != "config.yml":
        assert {"name", "description", "body"} <= set(read)
        ids = [part["id"] for part in read["body"] if part["type"] != "markdown"]
        assert len(ids) == len(set(ids)) > 0


def test_workflows_and_containers_use_what_there_is() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for file in (ROOT / ".github" / "workflows").glob("*.yml"):
        for job in yaml.safe_load(file.read_text(encoding="utf-8"))["jobs"].values():
            for step in job["steps"]:
                for words in re.findall("^make (.*)$", step.get("run", ""), re.MULTILINE):
                    for target in (word for word in words.split() if "=" not in word):
                        assert re.search(f"^{target}:", makefile, re.MULTILINE), target
    for file in ("Containerfile", ".github/workflows/checks.yml"):
        for name in re.findall(r"requirements/[\w.]+", (ROOT / file).read_text(encoding="utf-8")):
            assert (ROOT / name).is_file(), name


def test_the_conda_recipe_needs_what_the_package_needs() -> None:
    recipe = yaml.safe_load((ROOT / "conda" / "recipe.yaml").read_text(encoding="utf-8"))
    assert recipe["context"]["version"] == __version__
    stated = {f"python {PROJECT['requires-python']}"}
    for one in map(Requirement, PROJECT["dependencies"]):
        bounds = sorted(map(str, one.specifier), key=lambda bound: not bound.startswith(">"))
        stated.add(f"{one.name} {','.join(bounds)}".replace("matplotlib ", "matplotlib-base "))
    assert set(recipe["requirements"]["run"]) == stated


def test_what_the_wheel_says_of_itself() -> None:
    """Every version that is tried is named, and `all` has each extra that adds something to do."""
    named = [one.rpartition(" ")[2] for one in PROJECT["classifiers"] if " :: Python :: 3." in one]
    assert tuple(named) == PYTHONS
    extras = PROJECT["optional-dependencies"]
    (whole,) = map(Requirement, extras["all"])
    reached, waiting = set(), set(whole.extras)
    while waiting:
        reached |= waiting
        needed = (Requirement(one) for extra in waiting for one in extras[extra])
        waiting = {extra for one in needed if one.name == "discreet" for extra in one.extras} - reached
    others = {"all", "test", "docs", "bench", "interop", "dp-accounting", "opendp", "riskcal"}
    assert reached == set(extras) - others


def test_hints_name_what_works_from_a_checkout() -> None:
    """There is no `discreet` on a package index; whoever follows such a hint would get nothing, or worse.

    Only the page about installing says what will work once it is published, and that it does not work yet.
    """
    systems = ROOT / "docs" / "reference" / "systems.md"
    heading = "### Once it is published"
    assert "None of this works yet" in systems.read_text(encoding="utf-8").partition(heading)[2]
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "src").rglob("*.py")]
    for page in pages:
        text = page.read_text(encoding="utf-8").partition(heading if page == systems else "\0")[0]
        assert not re.search(r"(pipx?|tool) install ['\"]?discreet", text), page
        for extras in re.findall(r"(?:pipx?|tool) install ['\"]?\.\[([\w,-]+)\]", text):
            assert set(extras.split(",")) <= set(PROJECT["optional-dependencies"]), page


def test_no_address_that_does_not_exist() -> None:
    """Every address in the files about the project is one of a paper, an action or a tool that exists."""
    known = ("https://arxiv.org/abs/2410.09296", "https://arxiv.org/abs/2606.29835")
    assert set(PROJECT["urls"].values()) == set(known)
    for file in ("SECURITY.md", "CONTRIBUTING.md", "CITATION.cff"):
        text = (ROOT / file).read_text(encoding="utf-8")
        assert not re.search(r"https?://|[\w.]+@[\w.]+\.\w+", text), file

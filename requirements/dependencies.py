"""What this project depends on: an SBOM (CycloneDX), and the licences as a page.

    python requirements/dependencies.py sbom out/sbom.cdx.json
    python requirements/dependencies.py licences docs/reference/dependencies.md

Names, versions and hashes come from the lock files beside this one, licences from the metadata of what is
installed.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent
SETS = {"run": "the package itself", "test": "everything that it can do, and its tests"}
_LINE = re.compile(r"([A-Za-z0-9._-]+)==([^\s;\\]+)\s*(?:;\s*([^\\]+?))?\s*\\?")


@dataclass(frozen=True)
class Package:
    """One locked package."""

    name: str
    version: str
    marker: str
    hashes: tuple[str, ...]

    @property
    def licence(self) -> str:
        """The licence as its author states it; empty if it is not installed here."""
        try:
            said = metadata(self.name)
        except PackageNotFoundError:
            return ""
        expression = said.get("License-Expression") or ""
        if expression:
            return expression
        classifiers = [
            one.split(" :: ")[-1] for one in said.get_all("Classifier") or () if one.startswith("License :: ")
        ]
        short = (said.get("License") or "").strip().split("\n")[0]
        found = ", ".join(one for one in classifiers if one != "OSI Approved") or short[:80]
        return found or "not stated"


def locked(name: str) -> list[Package]:
    """Read a lock file.

    >>> [one.name for one in locked("run")][:1]
    ['attrs']
    """
    found: list[Package] = []
    hashes: list[str] = []
    for line in (HERE / f"{name}.txt").read_text(encoding="utf-8").splitlines():
        text = line.strip()
        if text.startswith("--hash=sha256:"):
            hashes.append(text.removeprefix("--hash=sha256:").rstrip(" \\"))
            found[-1] = Package(found[-1].name, found[-1].version, found[-1].marker, tuple(hashes))
        elif text and not text.startswith("#"):
            match = _LINE.fullmatch(text)
            assert match, f"{name}.txt: {text}"
            hashes = []
            found.append(Package(match[1], match[2], match[3] or "", ()))
    return found


def sbom(name: str) -> dict[str, object]:
    """Return a CycloneDX document of a lock file."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    version = re.search(
        r'__version__ = "([^"]+)"', (ROOT / "src/discreet/__init__.py").read_text(encoding="utf-8")
    )
    own = {"type": "library", "name": project["name"], "version": version[1] if version else "0"}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": own | {"licenses": [{"expression": project["license"]}]}},
        "components": [
            {
                "type": "library",
                "name": one.name,
                "version": one.version,
                "purl": f"pkg:pypi/{one.name.lower().replace('_', '-')}@{one.version}",
                "scope": "required",
                "hashes": [{"alg": "SHA-256", "content": digest} for digest in one.hashes],
                **({"licenses": [{"license": {"name": one.licence}}]} if one.licence else {}),
            }
            for one in locked(name)
        ],
    }


def licences() -> str:
    """Return the page of all dependencies and their licences."""
    run = {one.name for one in locked("run")}
    old = dict(listed(PAGE.read_text(encoding="utf-8"))) if PAGE.exists() else {}
    parts: dict[str, dict[str, list[str]]] = {"To run it": {}, "For extras and tests": {}}
    for one in locked("test"):
        licence = one.licence or old.get(one.name, _NOT_HERE.get(one.name, "not stated"))
        part = parts["To run it" if one.name in run else "For extras and tests"]
        part.setdefault(licence.replace("|", "/"), []).append(one.name)
    page = PAGE_HEAD
    for title, found in parts.items():
        rows = [f"| {licence} | {', '.join(names)} |" for licence, names in sorted(found.items())]
        page += "\n".join([f"\n## {title}", "", "| licence | packages |", "| --- | --- |", *rows, ""])
    return page


# what is not installed on every machine, from the metadata of the locked versions: colorama 0.4.6,
# editables 0.6, hatchling 1.33.0, tomlkit 0.15.2, trove-classifiers 2026.9.21.13
_NOT_HERE = {
    "colorama": "BSD License",
    "editables": "MIT License",
    "hatchling": "MIT",
    "tomlkit": "MIT",
    "trove-classifiers": "Apache Software License",
}
PAGE = ROOT / "docs" / "reference" / "dependencies.md"
HEADER = ("licence", "---")
PAGE_HEAD = """\
# Dependencies and their licences

Everything that `requirements/run.txt` and `test.txt` name, with the licence that its author states in the
package's metadata; not what builds the site (`docs.txt`). `discreet` itself is under the Apache License 2.0
and contains none of them. Made by `make licences`; `make sbom` writes the same as a CycloneDX document
with versions and hashes.
"""


def listed(text: str) -> list[tuple[str, str]]:
    """Return the packages and licences of the page.

    >>> listed("| licence | packages |\\n| --- | --- |\\n| MIT | attrs, rich |\\n")
    [('attrs', 'MIT'), ('rich', 'MIT')]
    """
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", text, re.MULTILINE)
    return [(name, licence) for licence, names in rows if licence not in HEADER for name in names.split(", ")]


def main(arguments: Sequence[str]) -> None:
    """Write what is asked for."""
    what, target = arguments
    path = Path(target)
    path.parent.mkdir(exist_ok=True)
    if what == "sbom":
        path.write_text(json.dumps(sbom("test"), indent=1) + "\n", encoding="utf-8")
    else:
        path.write_text(licences(), encoding="utf-8")
    print(path)


if __name__ == "__main__":
    main(sys.argv[1:])

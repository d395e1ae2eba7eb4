"""`discreet report`: files, numbers as in the other commands, refusals, and a browser without network."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from discreet.answers import Quantity
from discreet.reports.html import pdf as pdf_module

CHROMIUM = next(filter(None, map(shutil.which, pdf_module.NAMES)), None)
QUICK = ("--no-certify", "--no-savings", "--quiet")


def test_the_page_has_the_numbers_of_the_other_commands(discreet, small, tmp_path):
    out = tmp_path / "page.html"
    answer = discreet("report", small, "--out", out, "--jobs", 1, "--json")
    assert answer.status == 0, answer.err
    text = out.read_text(encoding="utf-8")
    (row,) = discreet("account", small, "--delta", "1e-10", "--certify", "--json").json["results"]
    assert answer.json["epsilon"] == row["epsilon"]
    assert str(Quantity(row["epsilon"])) in text
    printed = discreet("account", small, "--delta", "1e-10", "--certify", "--quiet").out
    line = next(line for line in printed.splitlines() if "<= epsilon <=" in line)
    lower, upper = line.partition(":")[2].split("<= epsilon <=")
    assert f"{lower.strip()} ≤ ε</span>" in text
    assert f"≤ {upper.strip()}</span>" in text
    found = discreet("calibrate", small, "--zcdp", "--delta", "1e-10", "--json").json
    assert answer.json["reduction"] == pytest.approx(found["reduction"], rel=1e-12)
    assert f"{100 * found['reduction']:.3f} % less" in text
    assert answer.json["files"] == [str(out)]


@pytest.mark.slow
def test_the_file_is_the_same_however_many_processes(discreet, tmp_path):
    # 36 pairs of paths: enough for the proofs to be shared between processes
    files = [tmp_path / f"{jobs}.html" for jobs in (1, 2)]
    for jobs, out in enumerate(files, 1):
        asked = ("pl94-2020-units", "--out", out, "--jobs", jobs, "--no-savings", "--quiet")
        assert discreet("report", *asked).status == 0
    assert files[0].read_bytes() == files[1].read_bytes()


@pytest.mark.slow
def test_where_a_file_lies_does_not_show(discreet, small, tmp_path):
    other = tmp_path / "elsewhere" / "other.toml"
    other.parent.mkdir()
    shutil.copy(small, other)
    for target, out in ((small, "a.html"), (other, "b.html")):
        assert discreet("report", target, "--out", tmp_path / out, *QUICK).status == 0
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()
    assert str(tmp_path) not in (tmp_path / "a.html").read_text()


@pytest.mark.slow
def test_before_and_after(discreet, small, tmp_path):
    before = tmp_path / "before.toml"
    before.write_text(small.read_text().replace('"8"', '"16"').replace('rho = "3/4"\n', ""))
    out = tmp_path / "page.html"
    assert discreet("report", small, "--before", before, "--out", out, *QUICK).status == 0
    text = out.read_text()
    results = discreet("compare", before, small, "--delta", "1e-10", "--json").json["results"]
    assert (
        f"rises from {Quantity(results[0]['a']['epsilon'])} to {Quantity(results[0]['b']['epsilon'])}" in text
    )


@pytest.mark.slow
def test_what_is_said(discreet, small, tmp_path):
    answer = discreet("report", small, "--out", tmp_path / "page.html", *QUICK)
    assert "(not certified)" in " ".join(answer.out.split())
    assert "page.html" in answer.out
    assert answer.err == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "--out FILE.html is needed"),
        (("--out", "page.txt"), "must end in .html or .htm"),
        (("--out", "missing/page.html"), "there is no directory"),
        (("--out", "page.html", "--delta", "1"), "strictly between 0 and 1"),
        (("--out", "page.html", "--prior", "0"), "prior is 0"),
        (("--out", "page.html", "--prior", "half"), "prior"),
        (("--out", "page.html", "--before", "nothing"), "nothing"),
        (("--out", "page.html", "--jobs", "0"), "jobs"),
        (("--out", "page.html", "--neighbours", "near"), "neighbours"),
        (("--out", "page.html", "--title", "a\nb"), "title"),
        (("--out", "page.html", "--people", "0"), "people"),
        (("--out", "page.html", "--pdf", "page.html"), "must end in .pdf"),
    ],
)
def test_bad_input_is_refused_and_nothing_is_written(
    refused, small, tmp_path, monkeypatch, arguments, message
):
    monkeypatch.chdir(tmp_path)
    assert message in refused("report", small, *arguments)
    assert [path.name for path in tmp_path.iterdir()] == ["small.toml"]


def test_a_release_that_is_none_is_refused(refused, tmp_path):
    broken = tmp_path / "broken.toml"
    broken.write_text('name = "x"\nneighbours = "bonded"\nlevels = []\n')
    assert "bonded" in refused("report", broken, "--out", tmp_path / "page.html")
    assert "no-such" in refused("report", "no-such", "--out", tmp_path / "page.html")
    assert [path.name for path in tmp_path.iterdir()] == ["broken.toml"]


def test_without_chromium_there_is_no_pdf_and_no_page(refused, small, tmp_path, monkeypatch):
    monkeypatch.setattr(pdf_module, "NAMES", ("no-such-browser",))
    files = ("--out", tmp_path / "page.html", "--pdf", tmp_path / "page.pdf")
    assert "a PDF needs Chromium" in refused("report", small, *files, *QUICK)
    assert [path.name for path in tmp_path.iterdir()] == ["small.toml"]


@pytest.mark.slow
def test_a_browser_that_fails_leaves_nothing(refused, small, tmp_path, monkeypatch):
    false = tmp_path / "false"
    false.write_text("#!/bin/sh\nexit 3\n")
    false.chmod(0o755)
    monkeypatch.setattr(pdf_module, "find_chromium", lambda: str(false))
    message = refused("report", small, "--out", tmp_path / "a.html", "--pdf", tmp_path / "a.pdf", *QUICK)
    assert "it ended with 3" in message
    assert {path.name for path in tmp_path.iterdir()} == {"small.toml", "false"}


@pytest.mark.skipif(
    not any(map(shutil.which, pdf_module.NAMES)), reason="needs Chromium: `make system` installs it"
)
def test_a_pdf_is_printed_and_the_browser_leaves_nothing(discreet, small, tmp_path, monkeypatch):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    out = tmp_path / "page.pdf"
    assert discreet("report", small, "--pdf", out, *QUICK).status == 0
    assert out.read_bytes().startswith(b"%PDF-")
    assert b"/Page" in out.read_bytes()
    assert list(scratch.iterdir()) == []


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium: `make system` installs it")
def test_the_page_opens_from_disk_without_network(discreet, small, tmp_path):
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="needs Playwright: install the extra `test`"
    )
    out = tmp_path / "page.html"
    assert discreet("report", small, "--out", out, *QUICK).status == 0
    arguments = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    with playwright.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=arguments)
        try:
            for scheme in ("light", "dark"):
                for width in (1280, 768, 360):
                    _check(browser, out, scheme, width)
        finally:
            browser.close()


def _check(browser, out: Path, scheme: str, width: int) -> None:
    size = {"width": width, "height": 720}
    context = browser.new_context(viewport=size, color_scheme=scheme, offline=True)
    page = context.new_page()
    asked, said = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(out.as_uri())
    assert asked == [out.as_uri()]
    assert said == []
    assert page.locator("h1").inner_text() == "Two levels"
    # nothing sticks out: what is too wide scrolls within its own frame
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert page.locator("svg.chart").count() == 4
    assert page.evaluate(_LEAST_CONTRAST) >= 4.5
    context.close()


_LEAST_CONTRAST = """() => {
  const light = ([r, g, b]) => [r, g, b].map(v => v / 255)
    .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const numbers = colour => colour.match(/[\\d.]+/g).map(Number);
  const behind = element => {
    for (let at = element; at; at = at.parentElement) {
      const found = numbers(getComputedStyle(at).backgroundColor);
      if (found.length < 4 || found[3] > 0) return found.slice(0, 3);
    }
    return [255, 255, 255];
  };
  let least = 21;
  for (const element of document.body.querySelectorAll(':not(title, desc)')) {
    if (![...element.childNodes].some(node => node.nodeType === 3 && node.textContent.trim())) continue;
    const style = getComputedStyle(element);
    const front = element.ownerSVGElement ? style.fill : style.color;
    const [a, b] = [light(numbers(front).slice(0, 3)), light(behind(element))];
    least = Math.min(least, (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05));
  }
  return least;
}"""

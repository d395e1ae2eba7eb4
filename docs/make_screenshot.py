"""Makes the pictures of these pages: `make screenshot`.

Commands draw theirs in the folder of a demo; tables to print and the workbench are photographed. Needs
Chromium and what `make test` installs. The workbench is the page that a new visitor sees, when all pairs of
paths of the 2020 Census DHC have been compared.
"""

from __future__ import annotations

import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import make_demo
import make_first_picture
from PIL import Image
from playwright.sync_api import Browser, sync_playwright

from discreet.reports.html.pdf import find_chromium

IMAGES = Path(__file__).parent / "images"
DRAWN = {
    "dhc-2020.png": "account dhc-2020 --pair 13 13 --delta 1e-10",
    "less-noise.png": "calibrate dhc-2022-08-25 --zcdp --delta 1e-10",
    "accuracy.png": "accuracy survey/release.toml --tree survey/units.csv",
    "risk.png": "risk release survey/release.toml --prior 1/2 --prior 1/10",
}
TABLES = 'estimate survey/rehearsal --print "age * limitation" --print total --out tables.html'
BLUE, RED = "#0b5cad", "#b3261e"
LARGEST = 300_000  # bytes
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync"]


def main() -> None:
    """Run the demo and the server, take the pictures, stop the server."""
    IMAGES.mkdir(exist_ok=True)
    make_first_picture.PICTURE.write_text(make_first_picture.picture(), encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=FLAGS)
        out = Path(folder) / "out"
        make_demo.main(out, jobs=2)
        for name, command in DRAWN.items():
            make_demo.output(f"{command} --plot {name}", out, jobs=2)
        draw_estimates(out)
        for name in (*DRAWN, "estimates.png"):
            shrink(out / name, IMAGES / name)
        make_demo.output(TABLES, out, jobs=2)
        photograph(browser, (out / "tables.html").as_uri(), "tables.png", height=560)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        url = f"http://127.0.0.1:{port}/budget"
        command = [sys.executable, "-m", "discreet", "workbench", "--port", str(port), "--no-token"]
        server = subprocess.Popen(command)
        try:
            wait_for(url)
            photograph(browser, url, "workbench.png", ready="[data-complete=true]")
        finally:
            server.terminate()
            server.wait(20)
        browser.close()
    for image in sorted(IMAGES.glob("*.png")):
        size = image.stat().st_size
        assert size < LARGEST, f"{image} has {size} bytes; at most {LARGEST} are wanted"
        print(f"{image}: {size // 1000} kB")


def draw_estimates(out: Path, query: str = "limitation", cell: str = "severe") -> None:
    """Draw the estimates of one cell with their intervals, beside the counts of the synthetic records."""
    from matplotlib.figure import Figure

    truth = make_demo.true_counts(out / make_demo.SURVEY, query, cell)
    found = make_demo.estimates(out / make_demo.SURVEY, query, cell)
    figure = Figure(figsize=(9, 4.2), layout="constrained")
    axes = figure.subplots(1, 2, width_ratios=[1, 4])
    for place, level in zip(axes, ("Region", "District"), strict=True):
        shown = [one for one in found if one["level"] == level]
        at = range(len(shown))
        low, high = ([float(one[end]) for one in shown] for end in ("lower95", "upper95"))
        place.vlines(at, low, high, color=BLUE, lw=5, alpha=0.35, label="95 % interval")
        place.plot(at, [float(one["estimate"]) for one in shown], "o", color=BLUE, label="best estimate")
        place.plot(at, [truth[one["unit"]] for one in shown], "_", c=RED, ms=12, mew=2, label="true count")
        place.set_xticks(list(at), [one["unit"] for one in shown], rotation=60, ha="right")
        place.set_title(f"{level}s")
        place.axhline(0, color="#888888", lw=0.8)
        place.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel(f"people, limitation {cell}")
    figure.legend(*axes[1].get_legend_handles_labels(), ncols=3, frameon=False, loc="outside lower center")
    figure.suptitle("NOT PRIVATE: a rehearsal with synthetic records", fontsize=10, color=RED)
    figure.savefig(out / "estimates.png", dpi=110)


def shrink(source: Path, target: Path, width: int = 1400) -> None:
    """Write a picture with fewer dots and colours: a few lines need no more."""
    picture = Image.open(source).convert("RGB")
    if picture.width > width:
        picture = picture.resize(
            (width, round(picture.height * width / picture.width)), Image.Resampling.LANCZOS
        )
    picture.quantize(128).save(target, optimize=True)


def wait_for(url: str) -> None:
    """Wait until the page can be asked for."""
    for _ in range(600):
        try:
            urllib.request.urlopen(url, timeout=10).close()
            return
        except OSError:
            time.sleep(0.1)
    raise SystemExit("the workbench did not start")


def photograph(browser: Browser, url: str, name: str, *, height: int = 860, ready: str = "body") -> None:
    """Photograph a page once what `ready` selects is there: then its numbers are final."""
    page = browser.new_page(viewport={"width": 1280, "height": height}, color_scheme="light")
    page.goto(url)
    page.wait_for_selector(ready, timeout=180_000)
    page.wait_for_timeout(500)
    page.screenshot(path=IMAGES / name)
    page.close()


if __name__ == "__main__":
    main()

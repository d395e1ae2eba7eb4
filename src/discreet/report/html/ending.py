"""The end of a page: what is assumed, how it was computed, what the terms mean, and the release as a file."""

from __future__ import annotations

import shlex
from importlib.metadata import version

from discreet.budget import Release, load_preset, preset_names
from discreet.report import words
from discreet.report.html.facts import Facts
from discreet.report.html.markup import Markup, el, join, name
from discreet.report.html.sections import paragraph, section

GLOSSARY = {
    "adversary": "Whoever tries to find out something about one record. For a bound that holds for "
    "all, this one is given every other record, all published tables and unlimited "
    "computing.",
    "budget": "How much privacy a release, a level or a query may cost, here measured as rho. It is "
    "divided like money: twice the budget buys half the variance.",
    "calibration": "Choosing the smallest noise with which a promise is still kept.",
    "certified": "Proved by interval arithmetic: the true value lies between the two ends, rounding "
    "errors included.",
    "delta": "A small chance for which the promise with epsilon makes an exception. At 1e-10 it is "
    "one in ten billion.",
    "epsilon": "The measure of what is lost: apart from delta, no outcome of the release becomes "
    "more than e^epsilon times as likely through one record. Smaller is more private. "
    "Large values say little by themselves; the chance to be right says more.",
    "Gaussian DP": "The release treated as if its noise were one continuous bell curve. An approximation "
    "that may err to either side; here for comparison only.",
    "level": "A layer of geography, such as state, county or block, with its own tables.",
    "margin of error": "How far a published count usually is from the true one: in 95 of 100 cases no "
    "further than this.",
    "neighbours": "The two versions of the data that must be hard to tell apart. Bounded: one record is "
    "replaced by another. Unbounded: one record is added or removed.",
    "path": "The levels on which one record is counted. Where a geographic unit has a single "
    "part, the two are merged and their budgets are spent together, so records on "
    "different paths are protected differently.",
    "prior": "The chance that an adversary gives a possibility before having seen the release.",
    "query": "One table of counts at one level, each count with its own noise.",
    "rho": "The budget in the zCDP sense: the sum, over all counts that one record takes part "
    "in, of a constant over the variance.",
    "trade-off curve": "For every share of false alarms that an adversary accepts, the share of true cases "
    "that must be missed. It says all that can be said about a release’s privacy.",
    "variance": "The size of the noise: the average of its square. Its root is the standard deviation.",
    "zCDP": "Zero-concentrated differential privacy, the accounting in which budgets simply add "
    "up. Its conversion to epsilon (Bun and Steinke 2016) is safe, and says more than is "
    "really lost.",
}
"""Every term that a newcomer would not know, in one or two sentences."""

_LIMITS = (
    (
        "One cell a table.",
        "A record is in one count of each query, or in as many as the column “counted” says. Whoever "
        "counts a record more often loses more.",
    ),
    (
        "Only what is listed.",
        "Counts published without noise, edits before the noise, which tables exist at all, and "
        "other releases are no part of these numbers. Databases that differ in a count published "
        "without noise are told apart with certainty, whatever epsilon says.",
    ),
    (
        "Good noise.",
        "Exact discrete noise, independent from count to count, from a source that cannot be guessed.",
    ),
    (
        "Post-processing is free.",
        "Whatever is computed from the noisy counts alone costs nothing more; least squares "
        "across levels and rounding included.",
    ),
    ("One record.", "Members of a family are several records. Together they lose more than each alone."),
    (
        "The worst case.",
        "Every number is about the record that loses most on the worst path. Most lose less.",
    ),
)


def limits(facts: Facts) -> Markup:
    """Return what the numbers rest on and what they leave out."""
    items = [el("li", el("strong", head), " ", text) for head, text in _LIMITS]
    release, account = facts.release, facts.account
    if release.neighbours != account.neighbours:
        calibrated = words.relation(release.neighbours, release.unit)
        text = (
            f"The noise was calibrated for {release.neighbours} neighbours ({calibrated}); "
            f"this page is about {account.neighbours} ones."
        )
        items.append(el("li", el("strong", "Another relation."), " ", text))
    for note in (*release.claim.reasons, *release.notes):
        items.append(el("li", el("strong", "Note on this release."), " ", name(note)))
    parts: list[object] = [el("ul", join(items, "\n"))]
    if release.sources:
        parts.append(el("h3", "Sources"))
        parts.append(el("ul", *(el("li", name(text)) for text in release.sources)))
    return section("limits", "Assumptions and limits", *parts)


def method(facts: Facts, before: Facts | None) -> Markup:
    """Return how the numbers were found, by which version, and the commands that give them again."""
    said = [
        paragraph(
            "The privacy loss of all counts together is computed exactly, for every path or pair of paths "
            "that a record may take, by inverting its characteristic function; the account is the worst "
            "over all of them. Budgets and variances are exact fractions throughout. Results are "
            f"printed to {words.DIGITS} digits; their relative error is at most 10⁻¹¹."
        ),
        paragraph(
            "A certified interval comes from ball arithmetic, in which every rounding error is carried "
            "along. Its lower end holds for the worst case, its upper end for all cases. The chance to be "
            "right is 1 − q + q δ(t), where q is the smaller of the prior and its complement, and "
            "t = log((1 − q)/q)."
            if facts.certified
            else "No certified intervals were asked for."
        ),
        paragraph(
            f"Made by discreet {version('discreet')}. The same inputs and version give this page byte for "
            "byte. It loads nothing from the network and runs no program."
        ),
        paragraph("The same numbers from the command line:"),
        el("pre", el("code", "\n".join(commands(facts, before)))),
    ]
    return section("method", "Method and version", *said)


def commands(facts: Facts, before: Facts | None) -> list[str]:
    """Return the commands that give the numbers of the page."""
    target = _target(facts.release, "release.toml")
    asked = facts.asked or (facts.headline,)
    first = [facts.headline, *(row for row in asked if row is not facts.headline)]
    deltas = "".join(f" --delta {words.plain(row.delta)}" for row in first)
    relation = ""
    if facts.account.neighbours != facts.release.neighbours:
        relation = f" --neighbours {facts.account.neighbours}"
    people = f" --people {facts.account.people}" if facts.account.people != 1 else ""
    certify = " --certify" if facts.certified else ""
    found = [f"discreet account {target}{deltas}{relation}{people}{certify}"]
    if facts.calibration is not None:
        small = words.plain(facts.headline.delta)
        found.append(f"discreet calibrate {target} --zcdp --delta {small}{relation}")
    if facts.account.people == 1:
        found.append(f"discreet risk explain {target} --prior {facts.prior}{relation}")
    if before is not None:
        other = _target(before.release, "before.toml")
        found.append(f"discreet compare {other} {target}{deltas}{relation}{people}")
    return found


def _target(release: Release, file: str) -> str:
    """The preset's name if it is one, else the file that the page shows at its end."""
    if release.name in preset_names() and load_preset(release.name) == release:
        return shlex.quote(release.name)
    return file


def glossary() -> Markup:
    """Return the terms, in alphabetical order."""
    items = [
        join([el("dt", word, id=f"term-{word.lower().replace(' ', '-')}"), el("dd", text)])
        for word, text in sorted(GLOSSARY.items(), key=lambda item: item[0].lower())
    ]
    return section("glossary", "Glossary", el("dl", join(items, "\n")))


def appendix(facts: Facts, before: Facts | None) -> Markup:
    """Return the releases as files that the command line reads."""
    files = [("release.toml", facts.release)] + ([("before.toml", before.release)] if before else [])
    parts: list[object] = [paragraph("Saved under its name, each is read by the commands above.")]
    for file, release in files:
        parts.append(
            el("details", el("summary", f"{file}: {release.name}"), el("pre", el("code", release.to_toml())))
        )
    return section("file", "The release as a file", *parts)

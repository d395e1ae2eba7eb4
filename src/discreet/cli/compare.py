"""`discreet compare`: two releases side by side."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from discreet import numbers
from discreet.budget import AnswerKind, load
from discreet.budget.levels import level_name
from discreet.cli import options
from discreet.cli.printing import PLAIN, Block, Hanging, Outputs, Screen, TextTable
from discreet.report import words

if TYPE_CHECKING:
    from discreet.accounting.overall import Account
    from discreet.report.tables import TwoReleases

app = App(
    name="compare",
    usage="Usage: discreet compare A B [OPTIONS]",
    help_epilogue="Example:\n  discreet compare pl94-2020-units pl94-2020-units-pr --delta 1e-10",
)


@app.default
def compare(
    a: options.Target,
    b: options.Target,
    /,
    *,
    delta: options.Deltas = None,
    accuracy: options.Accuracy = None,
    plot: Annotated[Path | None, Parameter(help="Plot both releases.", metavar="FILE.svg|png|pdf")] = None,
    between: options.Comparing = options.ALL_PATHS,
    screen: Screen = PLAIN,
) -> None:
    """Compare two releases."""
    enough = options.read_accuracy(accuracy)
    deltas = options.read_deltas(delta or ())
    outputs = Outputs(plot=plot)

    releases = (load(a), load(b))

    from discreet.report.tables import DELTAS, PrivacyTable, TwoReleases, epsilon_rows

    accounts = [between.account(one).with_accuracy(enough) for one in releases]
    with screen.progress("Comparing paths") as progress:
        running = [one.with_workers(between.workers, progress) for one in accounts]
        rows = [epsilon_rows(one, deltas or [*DELTAS]) for one in running]
        contents = (
            {"--plot": drawn(running[0], running[1], outputs.kind("--plot"))} if outputs.planned else {}
        )
    outputs.write(contents)
    found = TwoReleases(
        *(PrivacyTable([one], cost, own) for one, cost, own in zip(releases, accounts, rows, strict=True))
    )
    screen.present(found.as_dict, _text(found), timed=True)


def drawn(first: Account, second: Account, kind: str) -> bytes:
    """Return the picture of two accounts."""
    from discreet.report.figures import compare_figure, figure_bytes, sampled
    from discreet.report.tables import zcdp_of

    both = (sampled(one, zcdp_of(one)) for one in (first, second))
    return figure_bytes(compare_figure(*both, title=f"{first.name} and {second.name}"), kind)


def _text(found: TwoReleases) -> Iterator[Block]:
    from discreet.report.tables import difference

    sides = (("A", found.a.account, found.a.releases[0]), ("B", found.b.account, found.b.releases[0]))
    for letter, account, release in sides:
        who = words.relation(account.neighbours, account.unit, account.people)
        yield Hanging(f"{letter}: {release.name}. {release.title or release.name}", "   ")
        rho, compared = numbers.with_fraction(account.rho), words.compared(account).lower()
        yield Hanging(f"   {who} ({account.neighbours} neighbours); zCDP rho {rho}; {compared}", "   ")
    yield ""
    first, second = (account.claim.kind for _, account, _ in sides)
    rows = [
        (
            numbers.plain(one.delta),
            first.number(one.epsilon, one.digits("epsilon", numbers.DIGITS)),
            second.number(two.epsilon, two.digits("epsilon", numbers.DIGITS)),
            difference(two.epsilon - one.epsilon, one.accuracy + two.accuracy),
            numbers.number(one.zcdp),
            numbers.number(two.zcdp),
        )
        for one, two in found.rows
    ]
    titles = (f"A, {first.titled('epsilon')}", f"B, {second.titled('epsilon')}")
    yield TextTable(("delta", *titles, "B minus A", "A, zCDP", "B, zCDP"), rows)
    yield ""
    yield from found.differences
    yield str(found)
    for letter, account, release in sides:
        if account.claim.kind is not AnswerKind.EXACT:
            yield f"{letter}: {account.claim.kind.sentence}"
        yield from (Hanging(f"Note on {letter}: {note}") for note in words.cautions(release))
    yield ""
    if not found.noise:
        yield "No level and query have the same names in both."
        return
    yield "Variance of the noise, where level and query have the same names in both:"
    levels = [level for level, _ in found.noise]
    yield TextTable(
        ("level", "query", "A", "B", "B / A"),
        [
            (
                "" if level == last else level_name(level),
                query.name,
                numbers.plain(query.before),
                numbers.plain(query.after),
                numbers.number(float(query.after / query.before), 4),
            )
            for (level, query), last in zip(found.noise, ["", *levels], strict=False)
        ],
        (0, 1),
    )

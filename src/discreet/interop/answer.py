"""What entries of the registry of deployments say, and what a check of one has found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction

from discreet.answers.answer import (
    Answer,
    AnswerTable,
    Caution,
    Column,
    Fact,
    Paragraph,
    Part,
    Sentence,
    Verbatim,
    joined_words,
    sentence,
)
from discreet.answers.describing import describes
from discreet.answers.quantity import Claimed, NumberKind, Quantity, Style
from discreet.interop.registry import EntryFinding, EntryReview, RegistryEntry
from discreet.interop.yaml_text import yaml_of


@describes(RegistryEntry)
def registry_answer(made: RegistryEntry) -> Answer:
    """Say what an entry states, and what its next tier asks for."""
    text = yaml_of(made.entry)
    account, names = made.table.account, " ".join(release.name for release in made.table.releases)
    row = made.table.by_delta[0]
    kind = NumberKind.of(account.claim.kind)
    epsilon = Claimed.by(account.claim, row.epsilon, accuracy=row.accuracy)
    record: Mapping[str, object] = {
        "releases": [release.name for release in made.table.releases],
        "tier": made.tier,
        "missing": [{"field": field.place, "tier": field.tier, "asks": field.asks} for field in made.missing],
        "certificates": [certificate.document() for certificate in made.certificates],
        "entry": made.entry,
        "yaml": text,
    }
    cautions = (
        [Caution(kind.sentence, loud=kind is not NumberKind.AT_MOST)] if kind is not NumberKind.EXACT else []
    )
    cautions += [Caution(_next_tier(made))] if made.missing else []
    return Answer(
        f"Registry entry of {names}",
        record,
        (Verbatim(text.rstrip("\n")),),
        (Fact("Tier", str(made.tier)), Fact("Epsilon", epsilon)),
        tuple(cautions),
        command=f"discreet registry {names} --facts facts.toml",
        summary=f"Registry entry of {names}, tier {made.tier}",
    )


def _next_tier(made: RegistryEntry) -> str:
    places = ", ".join(field.place.removeprefix("deployment.") for field in made.missing)
    return f"The entry is of tier {made.tier}. Tier {made.missing[0].tier} asks for {places} too."


def template_answer(text: str) -> Answer:
    """Return the facts that an entry asks for, as a file to fill in.

    >>> template_answer("[basic]\\n").objects
    {'template': '[basic]\\n'}
    """
    return Answer("Facts to fill in", {"template": text}, (Verbatim(text.rstrip("\n")),))


@describes(EntryReview)
def entry_review_answer(review: EntryReview) -> Answer:
    """Say what does not add up in an entry, then what does."""
    wrong = [finding for finding in review.findings if not finding.agrees]
    right = [finding for finding in review.findings if finding.agrees]
    verdict = "adds up" if review.adds_up else "does not add up"
    parts: list[Part] = [Paragraph(f"{review.where}: {review.name} {verdict}.", role="headline")]
    rows = []
    for finding in (*wrong, *right):
        said = _finding(finding)
        head = "note:" if finding.is_note else "agrees:" if finding.agrees else "wrong:"
        parts.append(Paragraph(joined_words([head, said])))
        rows.append(
            (finding.kind, finding.agrees, _number(finding.stated), _number(finding.found), str(said))
        )
    columns = (
        Column("about", "about", is_text=True),
        Column("agrees", "agrees", is_text=True),
        Column("stated", "stated"),
        Column("recomputed", "recomputed"),
        Column("finding", "says", is_text=True),
    )
    table = AnswerTable(columns, tuple(rows))
    record = {"entry": review.where, "name": review.name, "adds_up": review.adds_up, "findings": table}
    return Answer(
        review.name,
        record,
        tuple(parts),
        (Fact("Adds up", "yes" if review.adds_up else "no"), Fact("Problems", str(len(wrong)))),
        tables={"findings": table},
        command=f"discreet registry --check {review.where}",
        summary=f"{review.name} {verdict}",
    )


def _number(value: object) -> Quantity | None:
    return Quantity(value, Style.BRIEF) if isinstance(value, Fraction) else None


def _finding(finding: EntryFinding) -> Sentence:
    return joined_words(_words(finding))


def _words(finding: EntryFinding) -> Iterator[str | Sentence]:
    stated, computed, at = (_number(value) or "" for value in (finding.stated, finding.found, finding.at))
    match finding.kind:
        case "form" | "variant" | "unstated":
            yield f"{finding.text}."
        case "tier":
            yield sentence(
                "Tier {stated} is stated, which is a guide and not a rule; tier {found} is complete, and "
                "these fields are empty: {text}.",
                stated=stated,
                found=computed,
                text=finding.text,
            )
        case "parts":
            parts = joined_words([text for text, _ in finding.parts], " and ")
            yield sentence("Rho is stated as {stated}, and its parts as {parts}.", stated=stated, parts=parts)
            yield sentence("They add up to {found}.", found=computed)
            yield from _difference(finding)
        case "releases":
            parts = joined_words(
                [
                    sentence("{name} {rho}", name=name, rho=_number(part) or "")
                    for name, part in finding.parts
                ],
                ", ",
            )
            yield sentence("Rho is stated as {stated}.", stated=stated)
            yield sentence("By release it is {parts}.", parts=parts)
            if len(finding.parts) > 1:
                yield sentence("They add up to {found}.", found=computed)
            yield from _difference(finding)
        case "implied":
            parts_of = {name: Quantity(value, Style.BRIEF) for name, value in finding.parts}
            yield sentence(
                "Epsilon is stated as {stated} at delta {at}. Rho alone implies {tight} (by Bun and "
                "Steinke's conversion {found}).",
                stated=stated,
                at=Quantity(finding.at, Style.GIVEN) if finding.at is not None else at,
                tight=parts_of["tight"],
                found=computed,
            )
            if "mu" in parts_of:
                yield sentence(
                    "The details name mu = {mu} of Gaussian DP, which implies {gaussian}: that, and not rho, "
                    "is what the epsilon follows from, as far as rounded numbers can tell.",
                    mu=parts_of["mu"],
                    gaussian=parts_of["gaussian"],
                )
            if not finding.agrees:
                yield "So rho does not prove it; name the release, and it is computed exactly."
        case "exact":
            yield sentence(
                "Epsilon is stated as {stated} at delta {at}; it is {found} ({kind}).",
                stated=stated,
                at=Quantity(finding.at, Style.GIVEN) if finding.at is not None else at,
                found=computed,
                kind=finding.text,
            )


def _difference(finding: EntryFinding) -> Iterator[Sentence]:
    if not finding.agrees and finding.stated is not None and finding.found is not None:
        more = finding.stated - finding.found
        yield sentence(
            "The entry states {off} {side} than that.",
            off=Quantity(abs(more), Style.BRIEF),
            side="more" if more > 0 else "less",
        )

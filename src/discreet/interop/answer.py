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
    account, names = made.table.account, " ".join(one.name for one in made.table.releases)
    row = made.table.by_delta[0]
    kind = NumberKind.of(account.claim.kind)
    epsilon = Claimed.by(account.claim, row.epsilon, accuracy=row.accuracy)
    record: Mapping[str, object] = {
        "releases": [one.name for one in made.table.releases],
        "tier": made.tier,
        "missing": [{"field": one.place, "tier": one.tier, "asks": one.asks} for one in made.missing],
        "certificates": [one.document() for one in made.certificates],
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
    places = ", ".join(one.place.removeprefix("deployment.") for one in made.missing)
    return f"The entry is of tier {made.tier}. Tier {made.missing[0].tier} asks for {places} too."


def template_answer(text: str) -> Answer:
    """Return the facts that an entry asks for, as a file to fill in.

    >>> template_answer("[basic]\\n").objects
    {'template': '[basic]\\n'}
    """
    return Answer("Facts to fill in", {"template": text}, (Verbatim(text.rstrip("\n")),))


@describes(EntryReview)
def entry_review_answer(found: EntryReview) -> Answer:
    """Say what does not add up in an entry, then what does."""
    wrong = [one for one in found.findings if not one.agrees]
    right = [one for one in found.findings if one.agrees]
    verdict = "adds up" if found.adds_up else "does not add up"
    parts: list[Part] = [Paragraph(f"{found.where}: {found.name} {verdict}.", role="headline")]
    rows = []
    for one in (*wrong, *right):
        said = _finding(one)
        head = "note:" if one.is_note else "agrees:" if one.agrees else "wrong:"
        parts.append(Paragraph(joined_words([head, said])))
        rows.append((one.kind, one.agrees, _number(one.stated), _number(one.found), str(said)))
    columns = (
        Column("about", "about", is_text=True),
        Column("agrees", "agrees", is_text=True),
        Column("stated", "stated"),
        Column("recomputed", "recomputed"),
        Column("finding", "says", is_text=True),
    )
    table = AnswerTable(columns, tuple(rows))
    record = {"entry": found.where, "name": found.name, "adds_up": found.adds_up, "findings": table}
    return Answer(
        found.name,
        record,
        tuple(parts),
        (Fact("Adds up", "yes" if found.adds_up else "no"), Fact("Problems", str(len(wrong)))),
        tables={"findings": table},
        command=f"discreet registry --check {found.where}",
        summary=f"{found.name} {verdict}",
    )


def _number(value: object) -> Quantity | None:
    return Quantity(value, Style.BRIEF) if isinstance(value, Fraction) else None


def _finding(one: EntryFinding) -> Sentence:
    return joined_words(_words(one))


def _words(one: EntryFinding) -> Iterator[str | Sentence]:
    stated, found, at = (_number(value) or "" for value in (one.stated, one.found, one.at))
    match one.kind:
        case "form" | "variant" | "unstated":
            yield f"{one.text}."
        case "tier":
            yield sentence(
                "Tier {stated} is stated, which is a guide and not a rule; tier {found} is complete, and "
                "these fields are empty: {text}.",
                stated=stated,
                found=found,
                text=one.text,
            )
        case "parts":
            parts = joined_words([text for text, _ in one.parts], " and ")
            yield sentence("Rho is stated as {stated}, and its parts as {parts}.", stated=stated, parts=parts)
            yield sentence("They add up to {found}.", found=found)
            yield from _difference(one)
        case "releases":
            parts = joined_words(
                [sentence("{name} {rho}", name=name, rho=_number(part) or "") for name, part in one.parts],
                ", ",
            )
            yield sentence("Rho is stated as {stated}.", stated=stated)
            yield sentence("By release it is {parts}.", parts=parts)
            if len(one.parts) > 1:
                yield sentence("They add up to {found}.", found=found)
            yield from _difference(one)
        case "implied":
            parts_of = {name: Quantity(value, Style.BRIEF) for name, value in one.parts}
            yield sentence(
                "Epsilon is stated as {stated} at delta {at}. Rho alone implies {tight} (by Bun and "
                "Steinke's conversion {found}).",
                stated=stated,
                at=Quantity(one.at, Style.GIVEN) if one.at is not None else at,
                tight=parts_of["tight"],
                found=found,
            )
            if "mu" in parts_of:
                yield sentence(
                    "The details name mu = {mu} of Gaussian DP, which implies {gaussian}: that, and not rho, "
                    "is what the epsilon follows from, as far as rounded numbers can tell.",
                    mu=parts_of["mu"],
                    gaussian=parts_of["gaussian"],
                )
            if not one.agrees:
                yield "So rho does not prove it; name the release, and it is computed exactly."
        case "exact":
            yield sentence(
                "Epsilon is stated as {stated} at delta {at}; it is {found} ({kind}).",
                stated=stated,
                at=Quantity(one.at, Style.GIVEN) if one.at is not None else at,
                found=found,
                kind=one.text,
            )


def _difference(one: EntryFinding) -> Iterator[Sentence]:
    if not one.agrees and one.stated is not None and one.found is not None:
        more = one.stated - one.found
        yield sentence(
            "The entry states {off} {side} than that.",
            off=Quantity(abs(more), Style.BRIEF),
            side="more" if more > 0 else "less",
        )

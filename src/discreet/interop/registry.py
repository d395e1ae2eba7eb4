"""Entries of the OpenDP registry of deployments: one made of a release, and one that exists recomputed.

What a release, its account and its ledger know is filled in; the rest are facts that people state. An entry
states nothing that was not computed or given, and its tier is the one whose fields are all there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Literal

from discreet.accounting.certificate import Certificate, strict_json
from discreet.accounting.questions import Deltas, Jobs
from discreet.budget.release import Release
from discreet.budget.text_files import read_text_file
from discreet.budget.toml import hint, parse_toml
from discreet.comparisons.costs import PrivacyTable, privacy_table
from discreet.comparisons.gaussian_dp import GaussianDP
from discreet.comparisons.zcdp import ZCDP, TightZCDP
from discreet.errors import DiscreetError, InputError, install_hint
from discreet.faces import Displayed
from discreet.interop.registry_fields import (
    LARGEST,
    PARAMETERS,
    RegistryField,
    form_problems,
    leaves,
    needed_fields,
    reached_tier,
    registry_fields,
)
from discreet.ledger.ledger import Ledger
from discreet.ledger.spending import spent_epsilon
from discreet.noise import Noise
from discreet.numbers import bound, brief, exact_text, fraction, one_or_more, shown
from discreet.questions import Option
from discreet.render.json_schema import problems as schema_problems

DELTAS = ("1e-10", "1e-6")
"""Deltas at which an entry states epsilon, unless others are named; the first is that of the parameters."""

DIGITS = 6

DEEPEST = 100
"""Brackets and indents in an entry that is read."""

_SOURCES = "deployment.administrative.sources"
_RHO = re.compile(r"\brho\b|ρ", re.IGNORECASE)
_EPSILON = re.compile(r"\bepsilon\b|ε|ϵ|\bdelta\b|δ", re.IGNORECASE)
_NUMBER = re.compile(r"(?<![\w.])\d{1,9}\.\d{1,15}(?![\w.]*\d)")
_GAUSSIAN = re.compile(r"GDP[^0-9.;]{0,40}?(\d+\.\d+)")
_LABELLED = re.compile(r"(?:\brho\b|ρ)\W{0,12}(?:of|is|=|≈)?\W{0,4}(\d{1,9}\.\d{1,15})(?!\d)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class RegistryEntry(Displayed):
    """An entry, the account that it states, the tier that it reaches, and what the next tier asks for."""

    entry: Mapping[str, object]
    table: PrivacyTable
    tier: int
    missing: tuple[RegistryField, ...]
    certificates: tuple[Certificate, ...] = ()


FindingKind = Literal["form", "variant", "unstated", "tier", "parts", "releases", "implied", "exact"]


@dataclass(frozen=True, slots=True)
class EntryFinding:
    """One thing that was recomputed: what is stated, what was found, its parts, and whether they agree."""

    kind: FindingKind
    agrees: bool
    text: str = ""
    stated: Fraction | None = None
    found: Fraction | None = None
    at: Fraction | None = None
    parts: tuple[tuple[str, Fraction], ...] = ()
    is_note: bool = False
    """Whether a reader should know it, though nothing in it is wrong."""


@dataclass(frozen=True, slots=True)
class EntryReview(Displayed):
    """What does, and what does not, add up in an entry."""

    where: str
    name: str
    findings: tuple[EntryFinding, ...]

    @property
    def adds_up(self) -> bool:
        """Whether nothing is wrong."""
        return all(finding.agrees for finding in self.findings)


# -- making one --------------------------------------------------------------------------------------------


def read_facts(path: str | Path) -> dict[str, object]:
    """Return the facts of a TOML file, by their places; all that is wrong with them is said at once.

    Places are those of an entry without "deployment": [basic] name, [deployment_model] actors, and so on.
    """
    text, where = read_text_file(path, "file of facts")
    known, facts, problems = registry_fields(), {}, []
    short = {path.removeprefix("deployment."): field for path, field in known.items()}
    for place, value in leaves(parse_toml(text, where, parse_float=float)):
        field = known.get(place) or short.get(place)
        if field is None:
            problems.append(f"{place} is not a field of an entry{hint(place, short)}")
        elif field.ours == "always":
            problems.append(f"{place} is computed from the release; leave it out")
        elif value != "" and (problem := field.problem(value)):
            problems.append(problem)
        elif value != "":  # an empty text is a question that nobody has answered yet
            facts[field.place] = value.isoformat() if isinstance(value, date) else value
    if problems:
        problems += [f"{_short_place(field)} is missing: {field.asks}" for field in _lacking(facts)]
        raise InputError(f"{'; '.join(problems)} ({where})")
    return facts


def _lacking(facts: Mapping[str, object]) -> list[RegistryField]:
    """Facts without which no entry is valid, and which no release has."""
    return [field for field in needed_fields(facts) if not field.ours and field.place not in facts]


def _short_place(field: RegistryField) -> str:
    """Where a fact stands in a file of facts."""
    return field.place.removeprefix("deployment.")


def facts_template(releases: Sequence[Release]) -> str:
    """Return a file of facts to fill in: every question that a release does not answer, with its choices."""
    lines = [
        f"# Facts for the registry's entry of {', '.join(release.name for release in releases)}",
        "# What stays empty is left out of the entry.",
    ]
    section = ""
    for field in registry_fields().values():
        if field.ours in ("always", "default"):
            continue
        *parents, key = field.place.removeprefix("deployment.").split(".")
        if parents and parents[-1] != section:
            section = parents[-1]
            lines += ["", f"[{section}]"]
        tier = (
            "needed"
            if field.needed
            else f"tier {field.tier}"
            if field.tier and not field.optional
            else "optional"
        )
        more = " (follows what the release says)" if field.ours == "text" else ""
        lines.append(f"# {tier}: {field.asks}{more}")
        lines += [f"#   one of {', '.join(field.choices)}"] if field.choices else []
        lines.append(f'{key} = ""')
    return "\n".join(lines) + "\n"


def registry_entry(
    releases: Sequence[Release],
    *,
    facts: Annotated[
        Mapping[str, object] | None,
        Option("What no release knows, as --template asks it.", "FILE.toml", reads=Path | None),
    ] = None,
    ledger: Annotated[
        Ledger | None, Option("The ledger of the runs that made the release.", "FILE", reads=Path | None)
    ] = None,
    delta: Deltas = DELTAS,
    certify: Annotated[bool, Option("Prove each epsilon, and name its certificate.")] = False,
    jobs: Jobs = 1,
    progress: Callable[[int, int], None] | None = None,
) -> RegistryEntry:
    """Return the registry's entry of a release, or of several together, with the facts that are stated.

    `facts` are what `read_facts` returns. A ledger says how many runs there were, what was published without
    noise and which program drew the noise. With `certify`, each epsilon is proved, and its certificate named.
    """
    stated = dict(facts or {})
    sources = " ".join(source for release in releases for source in release.sources)
    if lacking := _lacking(stated | ({_SOURCES: sources} if sources else {})):
        asked = "; ".join(f"{_short_place(field)}, {field.asks}" for field in lacking)
        raise InputError(
            f"an entry needs facts that no release has: {asked}; `discreet registry RELEASE --template` "
            "writes a file of them to fill in, and --facts reads it"
        )
    deltas = list(dict.fromkeys(fraction(value, name="delta") for value in one_or_more(delta))) or [
        Fraction(DELTAS[0])
    ]
    table = privacy_table(releases, delta=deltas, certify=certify, jobs=jobs, progress=progress)
    certificates = tuple(
        Certificate.from_account(table.account, releases, "epsilon", at, row.certified, worst=row.worst)
        for at, row in zip(deltas, table.by_delta, strict=True)
        if row.certified is not None
    )
    computed = _computed(releases, table, deltas, certificates) | ({_SOURCES: sources} if sources else {})
    for path, text in (_of_ledger(ledger, table) if ledger else {}).items():
        computed[path] = f"{computed[path]} {text}" if path in computed else text
    found: dict[str, object] = {}
    for path, field in registry_fields().items():
        own, given = computed.get(path), stated.get(path)
        if own is not None and given is not None and field.ours == "text":
            found[path] = f"{own} {given}"
        elif given is not None or own is not None:
            found[path] = own if given is None else given
    tier, missing = reached_tier(found)
    found["tier"] = tier
    entry: dict[str, Any] = {}
    for path in registry_fields():
        if path in found:
            *parents, key = path.split(".")
            inner = entry
            for parent in parents:
                inner = inner.setdefault(parent, {})
            inner[key] = found[path]
    if problems := form_problems(entry):
        raise InputError("; ".join(problems))
    return RegistryEntry(entry, table, tier, tuple(missing), certificates)


def _computed(
    releases: Sequence[Release],
    table: PrivacyTable,
    deltas: Sequence[Fraction],
    certificates: Sequence[Certificate],
) -> dict[str, object]:
    """What releases and their account say, by the places of an entry."""
    account, first = table.account, releases[0]
    events = [row.event for release in releases for row in release.variance_table()]
    is_pure = all(event.largest is not None for event in events)
    pure = sum(
        (spent_epsilon(release, account.neighbours) or Fraction(0) for release in releases), Fraction(0)
    )
    kind = account.claim.kind.label
    parts = [f"Rho ({kind}) is {_with_decimal(account.rho)}."]
    if is_pure:
        parts = [f"With delta 0, epsilon is {_with_decimal(pure)}."]
    said = [
        f"{_up(row.epsilon, row.accuracy)} at delta {exact_text(at)} (by zCDP's conversion of rho alone "
        f"{_up(row.zcdp)})"
        for at, row in zip(deltas, table.by_delta, strict=True)
    ]
    parts.append(f"Epsilon ({kind}), rounded up, is {'; '.join(said)}.")
    parts += account.claim.reasons
    parts += [
        f"Proved: {certificate.says} Certificate {certificate.document()['digest']}, which discreet verify "
        "checks."
        for certificate in certificates
    ]
    parameters: dict[str, object]
    if is_pure:
        parameters = {"epsilon": float(bound(pure, digits=DIGITS))}
    else:
        row = table.by_delta[0]
        parameters = {"epsilon": float(_up(row.epsilon, row.accuracy)), "delta": float(deltas[0])}
        parameters["rho"] = float(bound(account.rho, digits=DIGITS))
    levels = sum(len(release.levels) for release in releases)
    queries = sum(len(level.queries) for release in releases for level in release.levels)
    slug = re.sub(r"[^a-z0-9]+", "-", "-".join(release.name for release in releases).lower()).strip("-")
    which = "pairs of paths" if account.neighbours == "bounded" else "paths"
    whom = f"{'an' if first.unit[0] in 'aeiou' else 'a'} {first.unit}"
    return {
        "url_slug": slug or "entry",
        "status": "Draft",
        "deployment.basic.name": "; ".join(release.title or release.name for release in releases),
        "deployment.basic.data_product_type": "Summary statistics",
        "deployment.dp_variant.variant_name": "Pure DP" if is_pure else "Zero-concentrated DP",
        "deployment.privacy_loss.privacy_unit": f"One record of {whom}",
        "deployment.privacy_loss.privacy_unit_details": _adjacent(first.unit, account.neighbours),
        **{f"{PARAMETERS}{name}": value for name, value in parameters.items()},
        "deployment.privacy_loss.privacy_parameters_details": " ".join(parts),
        "deployment.deployment_model.model_name": "Central",
        "deployment.accounting.composition": (
            "Sequential composition, computed from the distribution of the privacy loss: the losses of all "
            "noisy answers that a record changes are added as random variables, not by their parameters."
            + (
                f" The worst of all {account.pairs:,} {which} of records is stated."
                if account.pairs > 1
                else ""
            )
        ),
        "deployment.implementation.mechanisms": (
            f"{_laws(events)}, for {queries:,} {'query' if queries == 1 else 'queries'} in all at {levels:,} "
            f"{'level' if levels == 1 else 'levels'}. The noise is a whole number."
        ),
    }


def _adjacent(unit: str, neighbours: str) -> str:
    if neighbours == "bounded":
        return (
            f"Two data sets are adjacent if one is the other with the record of one {unit} replaced by any "
            "record of the data domain (bounded neighbours). The number of records is not protected."
        )
    return (
        f"Two data sets are adjacent if one is the other with the record of one {unit} added or removed "
        "(unbounded neighbours)."
    )


def _of_ledger(ledger: Ledger, table: PrivacyTable) -> dict[str, str]:
    """What a ledger of runs says, by the places of an entry."""
    unit = table.account.unit
    runs = [entry for entry in ledger.runs(unit) if entry.counted]
    if not runs:
        raise InputError(f"the ledger has no run about one {unit} that counts; a rehearsal is no release")
    spent = ledger.spent(unit, table.account.neighbours)
    if spent != table.account.rho:
        raise InputError(
            f"the ledger's runs about one {unit} have spent rho {shown(spent)}, and the release costs "
            f"{shown(table.account.rho)}; to register all that was spent, give the ledger for the release"
        )
    held = sorted({f"{query} of {level}" for entry in runs for level, query in entry.exact})
    programs = sorted({f"discreet {entry.version}" for entry in runs})
    most = max(entry.at_most for entry in runs)
    several = f"One {unit} has up to {most:,} records, which are protected together."
    return {
        **({"deployment.privacy_loss.privacy_unit_details": several} if most > 1 else {}),
        "deployment.dp_variant.unprotected_quantities": (
            f"Published without noise: {', '.join(held)}."
            if held
            else "None: the ledger names no invariants."
        ),
        "deployment.deployment_model.release_type": "One release" if len(runs) == 1 else "Many releases",
        "deployment.deployment_model.release_type_details": (
            f"The ledger has {len(runs):,} {'run' if len(runs) == 1 else 'runs'} so far, the first of "
            f"{runs[0].time[:10]}; later ones on the same data are added to it."
        ),
        "deployment.implementation.mechanisms": (
            f"The noise was drawn by {' and '.join(programs)}: exact samplers of whole numbers, with random "
            "bits of the operating system."
        ),
    }


def _up(value: float, doubt: float = 0.0) -> str:
    return bound(Fraction(value) + Fraction(doubt), digits=DIGITS)


def _laws(events: Sequence[Noise]) -> str:
    """The laws of noise, and their smallest and largest parameters."""
    said = []
    by_family: dict[str, list[Noise]] = {}
    for event in events:
        by_family.setdefault(event.FAMILY, []).append(event)
    for family, of_family in sorted(by_family.items()):
        sizes = sorted(event.size for event in of_family)
        ends = list(dict.fromkeys(brief(size, 4) for size in (sizes[0], sizes[-1])))
        said.append(f"{family} noise of {of_family[0].PARAMETER} {' to '.join(ends)}")
    text = " and ".join(said)
    return f"{text[0].upper()}{text[1:]}"


def _with_decimal(value: Fraction) -> str:
    short = bound(value, digits=DIGITS)
    exact = Fraction(short) == value
    return short if exact else f"{value}, at most {short}"


# -- checking one ------------------------------------------------------------------------------------------


def read_entry(path: str | Path, *, of: Literal["entry", "schema"] = "entry") -> dict[str, object]:
    """Return an entry, or a schema of entries, as it stands in a YAML or JSON file."""
    text, where = read_text_file(path, of)
    if Path(path).suffix.lower() == ".json":
        data: object = strict_json(text, where, parse_float=float)
    else:
        try:
            import yaml
        except ImportError:
            raise DiscreetError(
                f"{where} is YAML, and PyYAML is not installed: {install_hint('registry')}, or give "
                f"the {of} as a .json file"
            ) from None
        try:
            _check_tokens(yaml, text, where)
            for node in _mappings(yaml, yaml.compose(text, Loader=yaml.SafeLoader)):
                keys = [str(key.value) for key, _ in node.value]
                if twice := next((key for key in keys if keys.count(key) > 1), None):
                    line = node.start_mark.line + 1
                    raise InputError(
                        f"{where} states {shown(twice)} twice in the mapping that begins at line {line}; "
                        "leave one out"
                    )
            data = yaml.safe_load(text)
        except InputError:
            raise
        except (yaml.YAMLError, ValueError, RecursionError) as error:
            raise InputError(f"{where} is not YAML: {' '.join(str(error).split())[:300]}") from None
    if not isinstance(data, dict):
        wanted = {
            "entry": "an entry is a mapping with url_slug, status, tier and deployment",
            "schema": "a schema is a mapping",
        }
        raise InputError(f"{where} holds a {type(data).__name__}; {wanted[of]}")
    return data


def _check_tokens(yaml: Any, text: str, where: str) -> None:
    """Refuse what no entry needs: aliases, which can make a small file huge, and brackets without end."""
    depth = 0
    for token in yaml.scan(text):
        if isinstance(token, yaml.AliasToken):
            raise InputError(f"{where} has an alias (*name), which no entry needs; write the value out")
        name = type(token).__name__
        depth += name.endswith("StartToken") - name.endswith("EndToken")
        if depth > DEEPEST:
            raise InputError(f"{where} is nested more than {DEEPEST} times; an entry needs 4")


def _mappings(yaml: Any, node: Any) -> Iterator[Any]:
    """All mappings of a document."""
    if isinstance(node, yaml.MappingNode):
        yield node
        for _, inner in node.value:
            yield from _mappings(yaml, inner)
    elif isinstance(node, yaml.SequenceNode):
        for inner in node.value:
            yield from _mappings(yaml, inner)


def read_schema(path: str | Path) -> dict[str, object]:
    """Return a schema of entries, such as that of the registry, from a YAML or JSON file."""
    return read_entry(path, of="schema")


def review_entry(
    entry: Annotated[
        Mapping[str, object],
        Option("Recompute an entry that exists.", "FILE.yaml|json", each="check", reads=Path | None),
    ],
    *,
    releases: Sequence[Release] = (),
    schema: Annotated[
        Mapping[str, object] | None,
        Option("With --check: the form is that of this schema.", "FILE.yaml|json", reads=Path | None),
    ] = None,
    where: str = "the entry",
    jobs: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> EntryReview:
    """Recompute an entry: its form, its parameters against each other, and against releases if there are any.

    A number that was rounded agrees with what it may have been rounded from. The form is that of the
    registry's schema in 2025, or of the `schema` that is given.
    """
    values = dict(leaves(entry))
    form = form_problems(entry) if schema is None else schema_problems(_as_texts(entry), schema, place=where)
    findings = [EntryFinding("form", False, text) for text in form]
    numbers = {name: _number(values.get(f"{PARAMETERS}{name}")) for name in ("epsilon", "delta", "rho")}
    epsilon, delta, rho = numbers["epsilon"], numbers["delta"], numbers["rho"]
    for name, number in numbers.items():
        if number is not None and number[0] < 0:
            findings.append(EntryFinding("form", False, f"{PARAMETERS}{name} is below zero"))
    findings += _variant(str(values.get("deployment.dp_variant.variant_name", "")), values, numbers)
    tier, missing = reached_tier(values)
    stated = values.get("tier")
    if isinstance(stated, int) and stated > tier:
        findings.append(
            EntryFinding(
                "tier",
                True,
                ", ".join(field.place for field in missing),
                Fraction(stated),
                Fraction(tier),
                is_note=True,
            )
        )
    if rho is not None:
        texts = [str(v) for path, v in values.items() if isinstance(v, str) and "privacy_loss" in path]
        parts = [number for text in texts for number in rho_parts(text) if Fraction(number) != rho[0]]
        # a number that is named twice may be one part or two
        either = [_sum_agrees(some, rho) for some in (parts, list(dict.fromkeys(parts)))]
        if len(set(parts)) > 1:
            named = tuple((part, Fraction(part)) for part in dict.fromkeys(parts))
            total = sum((value for _, value in named), Fraction(0))
            findings.append(EntryFinding("parts", any(either), "", rho[0], total, None, named))
    spent = [
        (release.name, account_rho) for release in releases if (account_rho := _rho_of(release)) is not None
    ]
    if rho is not None and spent:
        total = sum((value for _, value in spent), Fraction(0))
        findings.append(
            EntryFinding("releases", abs(total - rho[0]) <= rho[1], "", rho[0], total, None, tuple(spent))
        )
    if epsilon is not None and delta is not None and 1e-300 < delta[0] < 1:
        if rho is not None and rho[0] > 0:
            tight = Fraction(TightZCDP.from_rho(rho[0]).epsilon(delta=float(delta[0])))
            usual = Fraction(ZCDP.from_rho(rho[0]).epsilon(delta=float(delta[0])))
            most, is_enough = epsilon[0] + epsilon[1], epsilon[0] + epsilon[1] >= tight
            parts_of = {"tight": tight}
            # a statement of Gaussian DP beside rho proves less epsilon than rho alone does
            for mu, room in [] if is_enough else _gaussian_mus(values):
                least, said = (_gaussian_epsilon(value, delta[0]) for value in (mu - room, mu))
                if least <= most:
                    parts_of |= {"mu": mu, "gaussian": said}
            findings.append(
                EntryFinding(
                    "implied",
                    is_enough or "mu" in parts_of or len(releases) == 1,
                    "",
                    epsilon[0],
                    usual,
                    delta[0],
                    tuple(parts_of.items()),
                    is_note="mu" in parts_of,
                )
            )
        if len(releases) == 1:
            table = privacy_table(releases, delta=[delta[0]], jobs=jobs, progress=progress)
            exact = Fraction(table.by_delta[0].epsilon)
            findings.append(
                EntryFinding(
                    "exact",
                    epsilon[0] + epsilon[1] >= exact,
                    table.account.claim.kind.label,
                    epsilon[0],
                    exact,
                    delta[0],
                )
            )
    name = str(values.get("deployment.basic.name", where))
    return EntryReview(where, name, tuple(findings))


def _gaussian_epsilon(mu: Fraction, delta: Fraction) -> Fraction:
    """What Gaussian DP of this mu implies at a delta."""
    return Fraction(GaussianDP.from_rho(mu**2 / 2).epsilon(delta=float(delta)))


def _as_texts(value: object) -> object:
    """An entry with its days as texts: YAML reads them as dates, and a schema knows texts only."""
    if isinstance(value, Mapping):
        return {str(key): _as_texts(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_as_texts(inner) for inner in value]
    return value.isoformat() if isinstance(value, date) else value


def _gaussian_mus(values: Mapping[str, object]) -> list[Stated]:
    """The numbers that the texts about the privacy loss state as mu of Gaussian DP."""
    texts = [str(v) for path, v in values.items() if isinstance(v, str) and "privacy_loss" in path]
    numbers = [_number(number) for text in texts for number in _GAUSSIAN.findall(text)]
    return [number for number in numbers if number is not None and number[0] > number[1]]


def _sum_agrees(parts: Sequence[str], rho: Stated) -> bool:
    """Whether decimals add up to a number, as far as their last digits can tell."""
    room = rho[1] + sum((_rounding(part) for part in parts), Fraction(0))
    return abs(sum((Fraction(part) for part in parts), Fraction(0)) - rho[0]) <= room


def rho_parts(text: str) -> list[str]:
    """Return the decimals that a text states as rhos.

    >>> rho_parts("The total rho is the sum of 4.96 for persons and 7.70 for units. Epsilon is 52.83.")
    ['4.96', '7.70']
    >>> rho_parts("Persons: rho = 4.96, epsilon = 26.34; units: rho = 7.70, epsilon = 34.33.")
    ['4.96', '7.70']
    """
    parts: list[str] = []
    for part in re.split(r"(?<=[.;])\s+", text):
        if _RHO.search(part):
            parts += _LABELLED.findall(part) if _EPSILON.search(part) else _NUMBER.findall(part)
    return parts


def _variant(
    name: str, values: Mapping[str, object], numbers: Mapping[str, Stated | None]
) -> Iterator[EntryFinding]:
    """Say whether the parameters are those of the variant; the schema allows any to be left out."""
    wants = {
        "Pure DP": ("epsilon",),
        "Approximate DP": ("epsilon", "delta"),
        "Zero-concentrated DP": ("rho",),
    }
    for parameter in wants.get(name, ()):
        value = values.get(f"{PARAMETERS}{parameter}")
        if value in (None, ""):
            said = f"{name} has {parameter}, and none is stated, as the schema allows: nothing is compared"
            yield EntryFinding("unstated", True, said, is_note=True)
        elif numbers[parameter] is None and isinstance(value, str):
            said = f"{parameter} is stated in words, {shown(value)}, which is not compared"
            yield EntryFinding("unstated", True, said, is_note=True)
    delta = numbers["delta"]
    if name == "Pure DP" and delta is not None and delta[0] > 0:
        yield EntryFinding("variant", False, "Pure DP has no delta, and one is stated")


Stated = tuple[Fraction, Fraction]
"""A number, and half a unit of its last digit."""


def _number(value: object) -> Stated | None:
    """A stated number as it prints; None if it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    text = str(value).strip()
    try:
        number = fraction(text)
    except InputError:
        return None
    return (number, _rounding(text)) if abs(number) < LARGEST else None


def _rounding(text: str) -> Fraction:
    """Half a unit of the last digit of a decimal."""
    try:
        exponent = Decimal(text).as_tuple().exponent
    except ArithmeticError:
        return Fraction(0)
    return Fraction(10) ** int(exponent) / 2 if isinstance(exponent, int) else Fraction(0)


def _rho_of(release: Release) -> Fraction | None:
    """What a release spends by zCDP's count: as it states, or as its levels add up to."""
    from discreet.accounting.account import account

    return release.rho if release.rho is not None else account(release).rho

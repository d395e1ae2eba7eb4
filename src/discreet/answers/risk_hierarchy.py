"""What a block and the areas around it tell together about one person, in words and tables."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from discreet.answers.answer import Answer, AnswerTable, Column, Fact, Paragraph, Part, Sentence, sentence
from discreet.answers.describing import describes
from discreet.answers.figure import Axis, Bars, Line, Panel, Picture, points
from discreet.answers.quantity import Claimed, NumberKind, Quantity, Rounding, Style
from discreet.disclosure.hierarchy import HierarchyPosterior

_AREAS = (
    Column("area", "name", is_text=True),
    Column("mean count", "mean"),
    Column("standard deviation", "standard_deviation"),
    Column("95 % interval"),
    Column(key="quantile_0.025"),
    Column(key="quantile_0.975"),
)


@describes(HierarchyPosterior)
def hierarchy_answer(posterior: HierarchyPosterior, *, other: float | None = None) -> Answer:
    """Say what someone believes who sees the noisy counts of a hierarchy.

    `other` is the posterior with the other law of the siblings' noise.

    >>> from discreet.disclosure.hierarchy import Area, hierarchy_posterior
    >>> block = Area(name="block", noisy=2, rho="0.0992", siblings=27, siblings_noisy=-1)
    >>> group = Area(name="block group", noisy=1, rho="0.2465")
    >>> print(hierarchy_answer(hierarchy_posterior([block, group], prior="1/2")).body[0].text)
    Target present: posterior 0.503267, 1.007 times the prior 0.5 (exact sum, at most 5e-24 of it left out).
    """
    areas = _areas(posterior)
    record = {
        "posterior": _posterior(posterior),
        "prior": posterior.prior,
        "ratio": posterior.ratio,
        "known": posterior.known,
        "method": posterior.method,
        "siblings": posterior.siblings,
        "truncation_error": posterior.truncation_error if posterior.method == "exact" else None,
        "standard_error": posterior.standard_error,
        "draws": posterior.draws,
        "sibling_error": posterior.sibling_error,
        "areas": areas,
        "posterior_other_siblings": other,
    }
    facts = (
        Fact("posterior", _posterior(posterior), f"prior {_belief(posterior.prior)}"),
        Fact("ratio", _brief(posterior.ratio, 4), "posterior over prior"),
    )
    body = tuple(_body(posterior, areas, other))
    return Answer(
        "A hierarchy",
        record,
        body,
        facts,
        tables={"areas": areas},
        command="discreet risk hierarchy",
        summary=_summary(posterior),
        figures={"areas": partial(_hierarchy_picture, posterior)},
    )


def _hierarchy_picture(posterior: HierarchyPosterior) -> Picture:
    """Return the posterior of every area's count, where it can be seen.

    >>> from discreet.disclosure.hierarchy import Area, hierarchy_posterior
    >>> _hierarchy_picture(hierarchy_posterior([Area(noisy=2, variance=5)], prior="1/2")).panels[0].title
    'area 1'
    """
    panels = []
    for area in posterior.areas:
        seen = area.probabilities > 1e-6
        at = points(area.values[seen], area.probabilities[seen])
        item = Bars(at) if len(at) <= 60 else Line(at)
        x, y = Axis("count", is_whole=True), Axis("posterior probability", low=0.0)
        panels.append(Panel(x, y, (item,), area.name))
    prior = _brief(posterior.prior, 6)
    return Picture(tuple(panels), f"Posterior counts, prior {prior}, method {posterior.method}")


def counts_table(posterior: HierarchyPosterior) -> AnswerTable:
    """Return the posterior of every count of every area; there may be millions of them.

    >>> from discreet.disclosure.hierarchy import Area, hierarchy_posterior
    >>> table = counts_table(hierarchy_posterior([Area(noisy=2, variance=5)], prior="1/2"))
    >>> [(row["area"], row["count"], round(row["probability"], 4)) for row in table.objects]
    [('area 1', 0, 0.4256), ('area 1', 1, 0.5744)]
    """
    return AnswerTable(
        tuple(Column(key=key) for key in ("area", "count", "probability")),
        tuple(
            (area.name, value, chance)
            for area in posterior.areas
            for value, chance in zip(area.values.tolist(), area.probabilities.tolist(), strict=True)
        ),
    )


def _areas(posterior: HierarchyPosterior) -> AnswerTable:
    rows = []
    for area in posterior.areas:
        low, high = area.quantile(0.025), area.quantile(0.975)
        spread = _brief(area.standard_deviation, 4)
        rows.append((area.name, _brief(area.mean, 6), spread, f"{low} to {high}", low, high))
    return AnswerTable(_AREAS, tuple(rows))


def _brief(value: float, digits: int) -> Quantity:
    return Quantity(value, Style.BRIEF, digits=digits)


def _belief(value: float) -> Quantity:
    """A chance in six digits, unless they would hide what is missing to one."""
    return _brief(value, 6) if value < 0.9995 else Quantity(value, Style.CHANCE)


def _posterior(posterior: HierarchyPosterior) -> Claimed:
    """The posterior, of the numbers that it is made of."""
    kind = NumberKind.EXACT if posterior.method == "exact" else NumberKind.ABOUT
    style = {"style": Style.BRIEF, "digits": 6} if posterior.probability < 0.9995 else {"style": Style.CHANCE}
    return Claimed(value=posterior.probability, kind=kind, scope=posterior.scope, **style)


def _summary(posterior: HierarchyPosterior) -> Sentence:
    return sentence(
        "posterior {posterior}, {ratio} times the prior {prior} ({how})",
        posterior=_posterior(posterior),
        ratio=_brief(posterior.ratio, 4),
        prior=_belief(posterior.prior),
        how=_how(posterior),
    )


def _body(posterior: HierarchyPosterior, areas: AnswerTable, other: float | None) -> Iterator[Part]:
    yield Paragraph(sentence("Target present: {summary}.", summary=_summary(posterior)))
    if posterior.method == "gibbs-unconstrained":
        yield Paragraph(
            "Note: this chain lets the block count more than the group, as the paper's tables suggest. "
            "Its limit is not the posterior of the stated model (method exact)."
        )
    yield ""
    yield areas
    if other is not None:
        there = "one discrete Gaussian" if posterior.siblings == "exact" else "the exact sum"
        off = abs(other - posterior.probability)
        gap = f"a difference of {Quantity(off, Style.POWER, digits=1)}" if off else "the same to every digit"
        yield ""
        yield Paragraph(
            sentence(
                "With {there} for the siblings' noise instead, the posterior is {other}, {gap}. The two "
                "distributions differ by at most {bound} in relative terms.",
                there=there,
                other=_brief(other, 6),
                gap=gap,
                bound=Quantity(posterior.sibling_error, Style.POWER, Rounding.UP, digits=1),
            )
        )


def _how(posterior: HierarchyPosterior) -> Sentence:
    """How the posterior was found, and how far it may be off."""
    if posterior.method == "exact":
        if not posterior.truncation_error:
            return sentence("exact")
        left = Quantity(posterior.truncation_error, Style.POWER, Rounding.UP)
        return sentence("exact sum, at most {left} of it left out", left=left)
    assert posterior.standard_error is not None, "a sampler states how far its draws may be off"
    free = posterior.method == "gibbs-unconstrained"
    return sentence(
        "Gibbs sampler{which}, {draws} draws, standard error {error}{end}",
        which=" that lets the block count more than the group" if free else "",
        draws=str(posterior.draws),
        error=Quantity(posterior.standard_error, Style.POWER, digits=1),
        end="; not the posterior of the stated model" if free else "",
    )

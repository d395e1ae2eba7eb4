"""`discreet help`: what a command does, or what a term means."""

from __future__ import annotations

import io
from typing import Annotated

from discreet.answers.answer import Answer, Paragraph
from discreet.answers.glossary import NO_TERM, glossary_terms, term_answer, term_of
from discreet.budget.toml import hint
from discreet.cli import build_app, console
from discreet.cli.commands import all_commands, command_groups
from discreet.cli.console import Screen, option
from discreet.errors import InputError

_WIDTH = 80
"""Columns of a help that is printed for a program to read."""

app = console.command(
    "help",
    "[TOPIC] [OPTIONS]",
    "ledger new",
    "trade-off curve",
    "epsilon",
    offers=lambda: dict.fromkeys(
        word
        for topic in (*all_commands(), *glossary_terms())
        for word in topic.split()
        if word.isidentifier()
    ),
)


@app.default
def help_on(
    *words: Annotated[str, option("A command, or a term of the glossary; none lists all.", "TOPIC")],
    json: console.Json = False,
) -> None:
    """Say what a term means, print the help of a command, or both if a word is both."""
    screen = Screen(json=json, quiet=True)
    if not words:
        screen.tell(_all_topics())
        return
    topic = " ".join(words)
    command, term = topic if topic in all_commands() else None, term_of(topic)
    if command is None and term is None:
        near = hint(topic, (*all_commands(), *glossary_terms())) or ";"
        raise InputError(f"there is no help on {topic!r}{near} `discreet help` lists all topics")
    said = Answer(topic, NO_TERM) if term is None else term_answer(term)
    if json:
        text = None if command is None else _help_of(command)
        screen.tell(Answer(topic, {"topic": topic, **said.record, "help": text}))
        return
    screen.tell(said)
    if command is not None:
        console.write("\n" * (term is not None))
        from rich.console import Console

        # of the terminal as it is now: that of the program keeps the width of its first page
        build_app().help_print(command.split(), console=Console())


def _help_of(command: str) -> str:
    from rich.console import Console

    page = io.StringIO()
    build_app().help_print(command.split(), console=Console(file=page, width=_WIDTH, no_color=True))
    return page.getvalue()


def _all_topics() -> Answer:
    """List the commands by group, then the terms."""
    shown = {
        title: ", ".join(command.name for command in commands) for title, commands in command_groups().items()
    }
    said = [Paragraph(f"{title}: {names}") for title, names in shown.items()]
    terms = Paragraph(f"Terms: {', '.join(glossary_terms())}")
    record = {"commands": list(all_commands()), "terms": list(glossary_terms())}
    return Answer("Topics", record, (*said, terms))

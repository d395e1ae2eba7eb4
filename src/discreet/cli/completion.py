"""`discreet completion`: completion of commands, options and names in a shell.

The script holds all names, so that a key press starts no program. What stands for an option's value says how
it is completed: files, directories, releases (presets, or files), levels of the release that was named, or
words. Levels of a TOML file are read by `awk`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, get_args

from discreet.budget import ALIASES, load_preset, preset_names
from discreet.cli import build_app, console
from discreet.cli.console import Screen, option

if TYPE_CHECKING:
    from cyclopts.argument import Argument

Shell = Literal["bash", "zsh", "fish"]

app = console.command(
    "completion",
    "bash|zsh|fish",
    "bash > ~/.local/share/bash-completion/completions/discreet",
    "zsh > ~/.zfunc/_discreet",
    "fish > ~/.config/fish/completions/discreet.fish",
    tries=["completion bash > discreet.bash"],
)


@app.default
def completion(
    shell: Annotated[Shell, option("The shell.", "bash|zsh|fish")], /, *, json: console.Json = False
) -> None:
    """Print a script that completes commands, options, presets, files and names of levels."""
    from discreet.answers.answer import Answer, Verbatim

    script = SCRIPTS[shell](list(completed_commands()))
    said = (Verbatim(script.rstrip("\n")),)
    Screen(json=json, quiet=True).tell(Answer(shell, {"shell": shell, "script": script}, said))


# -- what there is to complete -------------------------------------------------------------------------------

FLAG, FREE, FILES, FOLDERS, TARGETS, LEVELS = "flag", "free", "files", "folders", "targets", "levels"
"""How a value is completed; or by words, separated by spaces."""


@dataclass(frozen=True, slots=True)
class Completed:
    """A command: its words, what it does, its options with their kinds of values, and what follows them."""

    words: str
    help: str
    options: tuple[tuple[str, str, str], ...]
    """Name, kind of value, help."""
    places: str
    """The kind of what stands without an option; the names of its commands if it is a group."""


def completed_commands() -> Iterator[Completed]:
    """Yield the program itself, and every command.

    >>> found = {one.words: one for one in completed_commands()}
    >>> found["account"].places, found["risk"].places[:16]
    ('targets', 'single hierarchy')
    """
    program = build_app()
    waiting: list[tuple[str, ...]] = [()]
    while waiting:
        words = waiting.pop(0)
        with program.app_stack(list(words)):
            here = program
            for word in words:
                here = here[word]
            inner = [name for name in here if not name.startswith("-")]
            arguments = [] if here.default_command is None else list(here.assemble_argument_collection())
        shown = [argument for argument in arguments if argument.show]
        options = [
            (name, _kind(argument), _line(argument.parameter.help))
            for argument in shown
            for name in argument.names
            if name.startswith("--")
        ]
        options.append(("--help", FLAG, "Show this help."))
        places = [_kind(argument) for argument in shown if not argument.names[0].startswith("-")]
        kind = " ".join(inner) or next(iter(places), FREE)
        if offered := console.OFFERED.get(" ".join(words)):
            kind = " ".join(offered())
        yield Completed(" ".join(words), _line(here.help), tuple(options), kind)
        waiting += [(*words, name) for name in inner]


def _kind(argument: Argument) -> str:
    """Say how the value of an option is completed, from its type and from what stands for it in the help."""
    hint, shown = argument.hint, argument.parameter.metavar or ""
    kinds = {hint, *get_args(hint), *(inner for part in get_args(hint) for inner in get_args(part))}
    if bool in kinds:
        return FLAG
    words = [kind for kind in kinds if isinstance(kind, str)]
    if words:
        return " ".join(sorted(words))
    if re.fullmatch(r"[a-z-]+(\|[a-z-]+)+", shown):
        return shown.replace("|", " ")
    if shown.startswith("LEVEL"):
        return LEVELS
    if Path not in kinds and re.search(
        r"\b([Pp]reset|release to compare|a release)", argument.parameter.help or ""
    ):
        return TARGETS
    if shown == "DIR":
        return FOLDERS
    return FILES if Path in kinds or "FILE" in shown else FREE


def _line(text: str | None) -> str:
    return " ".join((text or "").split("\n")[0].split())


def _presets() -> list[str]:
    return sorted((*preset_names(), *ALIASES))


def _levels() -> dict[str, str]:
    """The names of the levels of each preset, with `|` between them, by the presets that have them."""
    by_release: dict[str, list[str]] = {}
    for name in _presets():
        by_release.setdefault("|".join(level.name for level in load_preset(name).levels), []).append(name)
    return {"|".join(names): levels for levels, names in by_release.items()}


_AWK = r"""awk '/^[ \t]*\[\[levels\]\]/ { inside = 1; next } /^[ \t]*\[/ { inside = 0 }
        inside && /^[ \t]*name[ \t]*=/ { sub(/^[^"]*"/, ""); sub(/".*/, ""); print; inside = 0 }'"""
"""Prints the names of the levels of a release file."""


# -- bash ----------------------------------------------------------------------------------------------------

_BASH = """\
# Completion of discreet in bash. Made by `discreet completion bash`.

_discreet_places() {
    case $1 in
@places
    esac
}

_discreet_options() {
    case $1 in
@options
    esac
}

_discreet_kind() {
    case "$1 $2" in
@kinds
    esac
}

_discreet_levels() {
    case $1 in
@levels
        *)
            [ -d "$1" ] && set -- "$1/release.toml"
            [ -f "$1" ] && @awk "$1"
            ;;
    esac
}

_discreet_reply() {  # not mapfile, which the bash of macOS does not have
    local line
    while IFS= read -r line; do COMPREPLY+=("$line"); done
}

_discreet() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}
    local command="" target="" kind="" word at places one
    COMPREPLY=()
    for (( at = 1; at < COMP_CWORD; at++ )); do
        word=${COMP_WORDS[at]}
        places=$(_discreet_places "$command")
        if [[ $word != -* && " $places " == *" $word "* && $places != targets ]]; then
            [[ -n $(_discreet_options "${command:+$command }$word") ]] && command="${command:+$command }$word"
        elif [[ $word != -* && -z $target ]] \\
            && [[ " @presets " == *" $word "* || $word == *.toml || -f $word/release.toml ]]; then
            target=$word
        fi
    done
    [[ $cur == "=" ]] && cur=""
    [[ $prev == "=" && COMP_CWORD -ge 2 ]] && prev=${COMP_WORDS[COMP_CWORD-2]}
    [[ $prev == --* ]] && kind=$(_discreet_kind "$command" "$prev")
    if [[ -z $kind || $kind == flag ]]; then
        kind=$(_discreet_places "$command")
        [[ $cur == -* ]] && kind=$(_discreet_options "$command")
    fi
    case $kind in
        free) ;;
        files) compopt -o filenames 2>/dev/null; _discreet_reply < <(compgen -f -- "$cur") ;;
        folders) compopt -o filenames 2>/dev/null; _discreet_reply < <(compgen -d -- "$cur") ;;
        targets)
            compopt -o filenames 2>/dev/null
            _discreet_reply < <(compgen -W "@presets" -- "$cur"; compgen -f -X '!*.toml' -- "$cur"
                compgen -d -- "$cur")
            ;;
        levels)
            while IFS= read -r one; do
                [[ $one == "$cur"* ]] && COMPREPLY+=("$(printf %q "$one")")
            done < <(_discreet_levels "$target")
            ;;
        *) _discreet_reply < <(compgen -W "$kind" -- "$cur") ;;
    esac
    return 0
}

complete -F _discreet discreet
"""


def _filled(template: str, **parts: str) -> str:
    return re.sub("@([a-z]+)", lambda match: parts.get(match[1], match[0]), template)


def _cases(pairs: Sequence[tuple[str, str]]) -> str:
    return "\n".join(f'        {pattern}) echo "{words}" ;;' for pattern, words in pairs)


def _bash_script(commands: Sequence[Completed]) -> str:
    """Return the completion for bash.

    >>> "complete -F _discreet discreet" in _bash_script(list(completed_commands()))
    True
    """
    kinds = [
        (f'"{command.words} {name}"', kind)
        for command in commands
        for name, kind, _ in command.options
        if kind != FLAG
    ]
    options = [(f'"{command.words}"', " ".join(name for name, *_ in command.options)) for command in commands]
    return _filled(
        _BASH,
        places=_cases([(f'"{command.words}"', command.places) for command in commands]),
        options=_cases(options),
        kinds=_cases(kinds),
        levels=_level_cases(),
        presets=" ".join(_presets()),
        awk=_AWK,
    )


def _level_cases() -> str:
    cases = []
    for presets, levels in _levels().items():
        names = " ".join(f"'{name}'" for name in levels.split("|"))
        cases.append(f"        {presets}) printf '%s\\n' {names} ;;")
    return "\n".join(cases)


# -- zsh -----------------------------------------------------------------------------------------------------

_ZSH = """\
#compdef discreet
# Completion of discreet in zsh. Made by `discreet completion zsh`.

_discreet_items() {
    case $1 in
@items
    esac
}

_discreet_options() {
    case $1 in
@options
    esac
}

_discreet_kind() {
    case "$1 $2" in
@kinds
    esac
}

_discreet_places() {
    case $1 in
@places
    esac
}

_discreet_levels() {
    case $1 in
@levels
        *)
            [[ -d $1 ]] && set -- "$1/release.toml"
            [[ -f $1 ]] && @awk "$1"
            ;;
    esac
}

_discreet() {
    local cur=${words[CURRENT]} prev=${words[CURRENT-1]} command="" target="" kind="" word at
    local -a items presets
    presets=(@presets)
    for (( at = 2; at < CURRENT; at++ )); do
        word=${words[at]}
        if [[ $word != -* && -n $(_discreet_options "${command:+$command }$word") ]]; then
            command="${command:+$command }$word"
        elif [[ $word != -* && -z $target ]]; then
            [[ -n ${presets[(r)$word]} || $word == *.toml || -f $word/release.toml ]] && target=$word
        fi
    done
    [[ $prev == --* ]] && kind=$(_discreet_kind "$command" "$prev")
    if [[ -z $kind || $kind == flag ]]; then
        if [[ $cur == -* ]]; then
            items=("${(@f)$(_discreet_options "$command")}")
            _describe -o option items
            return
        fi
        kind=$(_discreet_places "$command")
        if [[ $kind == commands ]]; then
            items=("${(@f)$(_discreet_items "$command")}")
            _describe command items
            return
        fi
    fi
    case $kind in
        free) _message value ;;
        files) _files ;;
        folders) _files -/ ;;
        targets) compadd -a presets; _files -g '*.toml'; _files -/ ;;
        levels) items=("${(@f)$(_discreet_levels "$target")}"); compadd -a items ;;
        *) items=(${=kind}); compadd -a items ;;
    esac
}

if [[ $funcstack[1] == _discreet ]]; then
    _discreet "$@"
else
    compdef _discreet discreet
fi
"""


def _zsh_script(commands: Sequence[Completed]) -> str:
    """Return the completion for zsh, with what each command and option does.

    >>> _zsh_script(list(completed_commands())).splitlines()[0]
    '#compdef discreet'
    """
    helps = {command.words: command.help for command in commands}

    def told(pairs: Sequence[tuple[str, str]]) -> str:
        return " ".join(_quoted(f"{name}:{help}") for name, help in pairs)

    items, options, kinds, places = [], [], [], []
    for entry in commands:
        inner = [
            (name, helps[f"{entry.words} {name}".strip()])
            for name in entry.places.split()
            if f"{entry.words} {name}".strip() in helps
        ]
        if inner:
            items.append(f"""        "{entry.words}") print -l -- {told(inner)} ;;""")
        places.append((f'"{entry.words}"', "commands" if inner else entry.places))
        listed = told([(name, help) for name, _, help in entry.options])
        options.append(f"""        "{entry.words}") print -l -- {listed} ;;""")
        kinds += [(f'"{entry.words} {name}"', kind) for name, kind, _ in entry.options if kind != FLAG]
    return _filled(
        _ZSH,
        items="\n".join(items),
        options="\n".join(options),
        kinds=_cases(kinds),
        places=_cases(places),
        levels=_level_cases(),
        presets=" ".join(_presets()),
        awk=_AWK,
    )


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


# -- fish ----------------------------------------------------------------------------------------------------

_FISH = """\
# Completion of discreet in fish. Made by `discreet completion fish`.

function __discreet_command
    set -l found
    for word in (commandline -opc)[2..]
        string match -q -- '-*' $word; and continue
        set -l next (string trim "$found $word")
        contains -- $next @commands; and set found $next
    end
    echo $found
end

function __discreet_at
    set -l here (__discreet_command)
    test "$here" = "$argv[1]"
end

function __discreet_levels
    for word in (commandline -opc)[2..]
        switch $word
@levels
            case '*.toml'
                test -f $word; and @awk $word
            case '*'
                test -f $word/release.toml; and @awk $word/release.toml
        end
    end
end

complete -c discreet -f
@lines
"""


def _fish_script(commands: Sequence[Completed]) -> str:
    """Return the completion for fish, with what each command and option does.

    >>> "-l delta -x -d 'Epsilon at this delta" in _fish_script(list(completed_commands()))
    True
    """
    helps = {command.words: command.help for command in commands}
    lines = []
    for entry in commands:
        at = f"complete -c discreet -n '__discreet_at \"{entry.words}\"'"
        inner = [name for name in entry.places.split() if f"{entry.words} {name}".strip() in helps]
        for name in inner:
            lines.append(f"{at} -a {name} -d {_fish(helps[f'{entry.words} {name}'.strip()])}")
        if not inner and entry.places != FREE:
            lines.append(f"{at}{_fish_values(entry.places)}")
        for name, kind, help in entry.options:
            lines.append(
                f"{at} -l {name.removeprefix('--')}{_fish_values(kind, needed=True)} -d {_fish(help)}"
            )
    levels = []
    for presets, names in _levels().items():
        shown = " ".join(_fish(name) for name in names.split("|"))
        levels.append(f"            case {presets.replace('|', ' ')}\n                printf '%s\\n' {shown}")
    return _filled(
        _FISH,
        commands=" ".join(_fish(command.words) for command in commands if command.words),
        levels="\n".join(levels),
        lines="\n".join(lines),
        awk=_AWK,
    )


def _fish_values(kind: str, *, needed: bool = False) -> str:
    values = {
        FLAG: "",
        FREE: " -x" if needed else "",
        FILES: " -r -F" if needed else " -F",
        FOLDERS: " -x -a '(__fish_complete_directories)'",
        TARGETS: f" {'-r ' * needed}-F -a '{' '.join(_presets())}'",
        LEVELS: " -x -a '(__discreet_levels)'",
    }
    return values.get(kind, f" {'-x ' * needed}-a '{kind}'")


def _fish(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


SCRIPTS = {"bash": _bash_script, "zsh": _zsh_script, "fish": _fish_script}
"""How the script of each shell is made."""

"""Commands that together print all that commands can print with --json, and what they print.

The examples at the end of all helps are run with --json, and the commands of SAMPLES.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import shlex
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from unittest import mock

from present import IS_WHOLE

from discreet.cli import run
from discreet.cli.console import MEASURE, SURVEY, TABULATE, TRY
from discreet.cli.schema import schema_names

NATION = "safetab synth nation --persons 2000 --states 1"
TRIAL = "safetab run nation/params nation/data trial --rehearsal 1"

EXAMPLES = Path(__file__).parents[2] / "src" / "discreet" / "measurement" / "examples"

FIXED: dict[str, object] = {
    "error": {"error": "there is no file a.toml", "problems": ["there is no file a.toml"], "status": 2},
    "schema": {"schemas": ["account"]},
    "workbench": {"url": "http://127.0.0.1:8765", "socket": None},
}
"""What is printed by a command that does not end or prints a schema, and instead of an answer."""

LEDGER = "ledger new survey/discreet-ledger.json --total person:bounded:20"
REAL = MEASURE.replace(" --rehearsal 1", "")
RECORDS = "--records survey/records.csv --units survey/units.csv"
_INIT = "init survey/records.csv --area-column unit --attribute 'age: 0-17, 18-39, 40-64, 65+'"
NOISY = "noisy/measurements.NOT-PRIVATE.csv"

_HEAD = 'neighbours = "unbounded"\n[[levels]]\nname = "State"\n[levels.queries]\n'
_MERGED = """
name = "merged"
neighbours = "bounded"
spine.may_merge_up = ["B"]
attributes.sex = ["f", "m"]
[[levels]]
name = "A"
queries = { "total" = { variance = 4 } }
[[levels]]
name = "B"
queries = { "sex" = { variance = 2 } }
"""
_FACTS = (
    '[basic]\ndata_curators = ["A"]\nintended_use = "b"\ndata_product_region = "c"\n'
    'description = "d"\npublication_date = 2026-03-01\n'
)
_RULES = """
format = "discreet policy 1"
ledger.file = "ledger.json"
ledger.witness = "../witness.txt"
largest_run = [{ unit = "person", neighbours = "bounded", rho = "20" }]
largest_total = [{ unit = "person", neighbours = "bounded", epsilon = "20", delta = "1e-10" }]
may.invariants = ["alice", "@office"]
"""
_KEYS = (
    "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",  # RFC 8032, tests 1 and 2
    "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
)
_ENTRY = """
{"url_slug": "a", "status": "Draft", "tier": 1, "deployment": {
  "basic": {"name": "A", "data_curators": ["B"], "intended_use": "c",
    "data_product_type": "Summary statistics", "data_product_region": "d",
    "description": "e", "publication_date": "2026-03-01"},
  "dp_variant": {"variant_name": "Zero-concentrated DP"},
  "privacy_loss": {"privacy_parameters": {"rho": 3, "epsilon": 20, "delta": 1e-10},
    "privacy_parameters_details": "Persons have rho 1.5, units rho 1."}}}
"""
_BIRTHPLACE = {path.name: path.read_text(encoding="utf-8") for path in (EXAMPLES / "birthplace").iterdir()}
_PURE = _BIRTHPLACE["specification.toml"].replace('"zcdp"', '"puredp"').replace("\nrho =", "\nepsilon =")
_BARE = _BIRTHPLACE["specification.toml"].replace("rho = 0.2", "rho = inf")
GIVEN = {
    "laplace.toml": f'name = "a"\n{_HEAD}"a" = {{ scale = "1" }}\n"b" = {{ scale = "5/2", groups = 3 }}\n',
    "one.toml": f'name = "one"\n{_HEAD}"total" = {{ variance = "1/10" }}\n',
    "counts.csv": "unit,parent,level,query,cell,count\nA,,State,total,all,360\nB,,State,total,all,5\n",
    "merged.toml": _MERGED,
    "merged.csv": "unit,level,parent\na,A,\nb,A+B,\na1,B,a\na2,B,a\n",
    "cells.csv": "cell,noisy,known,prior\na,0,0,1\nb,3,0,1\nc,1,0,2\n",
    "ptable.csv": "i;j;p;v;p_int_lb;p_int_ub\n0;0;1;0;0;1\n1;1;0.9;0;0;1\n2;1;.5;-1;0;.5\n2;4;.5;2;.5;1\n",
    "nested.csv": "cell,group,count\nA,a,2\nB,b,1\ntotal,a,2\ntotal,b,1\n",
    "groups.csv": "cell,noisy,group\na,3,x\nb,0,y\nc,7,x\n",
    "rows.csv": "value,variance,others,chance\n8,5,0,0.1\n2,5,3,0.5\n9,5,5,0.002\n",
    "rules/discreet-policy.toml": _RULES,
    "signed/discreet-policy.toml": _RULES.replace("ledger.witness", f'ledger.public_key = "{_KEYS[0]}"\n#'),
    "twice/discreet-policy.toml": _RULES.replace("ledger.witness", f"ledger.public_key = {[*_KEYS]}\n#"),
    "facts.toml": f'{_FACTS}[administrative]\nregistry_authors = ["E"]\n',
    "few-facts.toml": _FACTS,
    "table.toml": f'name = "table"\nattributes.sex = ["f", "m"]\n{_HEAD}'
    '"sex" = { noise = { absent = { "-1" = "1/8", "0" = "1/2", "1" = "3/8" } } }\n',
    "power.toml": f'name = "power"\nattributes.sex = ["f", "m"]\n{_HEAD}'
    '"sex" = { scale = 3, exponent = "17/10" }\n',
    "power.csv": "unit,level,parent,query,cell,count\nA,State,,sex,f,20\nA,State,,sex,m,30\n",
    "entry.json": _ENTRY,
    "contradicting.csv": "unit,parent,level,query,cell,value,variance\nA,,State,total,all,1000,1\n"
    "B,A,County,total,all,10,1\nC,A,County,total,all,10,1\n",
    "wrong/manifest.json": '{"units": 1, "queries": ["total", "sex", "hours by sex"]}',
    "wrong/units.csv": "unit,level,parent\nA,State,\n",
    "wrong/attributes.toml": '[attributes]\nsex = ["f", "m"]\n',
    "wrong/microdata.csv": "unit,sex\nA,f\nA,m\nA,x\n",
    "wrong/estimates.csv": "unit,level,query,cell,table\nA,State,total,all,3\nA,State,sex,f,\n"
    "A,State,sex,m,1\nA,State,hours by sex,f,5\n",
    **{f"pure/{name}": text for name, text in _BIRTHPLACE.items()},
    "pure/specification.toml": _PURE,
    **{f"bare/{name}": text for name, text in _BIRTHPLACE.items()},
    "bare/specification.toml": _BARE,
    **{f"both/{name}": text for name, text in _BIRTHPLACE.items()},
    "both/specification.toml": _PURE.replace("epsilon = 0.2", "epsilon = inf"),
}
"""Files for the samples, in the directory `given`."""

SAMPLES: tuple[tuple[str, ...], ...] = (
    (
        "registry given/one.toml --facts given/few-facts.toml --delta 1e-10",
        "account given/one.toml --delta 0",
    ),
    ("registry dhc-2022-08-25 --facts given/facts.toml --delta 1e-10",),
    ("registry pl94-2020-units --facts given/facts.toml --certify --delta 1e-10",),
    ("registry pl94-2020-units --check given/entry.json", "registry --check given/entry.json"),
    (SURVEY, LEDGER, REAL, "registry survey --facts given/facts.toml --ledger survey/discreet-ledger.json"),
    ("compare given/one.toml given/laplace.toml --delta 1e-10",),
    ("calibrate dhc-2022-08-25 --risk right=60%,prior=1/2 --delta 1e-10 --by level",),
    (
        SURVEY,
        "calibrate survey --risk right=60%,prior=1/2 --delta 1e-10 --weights Nation=1,Region=2,District=1",
    ),
    ("risk explain pl94-2020-units --held-exact State:total --prior 1/2",),
    ("account given/laplace.toml --delta 0", "calibrate given/laplace.toml --epsilon 1 --delta 0"),
    (SURVEY, "plan survey --tree 4,5 --keep Region --risk right=60%,prior=1/2"),
    (SURVEY, "plan survey --tree 4,5 --keep Region --risk right=60%,prior=1/2 --no-certify"),
    (NATION, "risk audit nation/params --data nation/data --runs 10"),
    (SURVEY, "plan survey --tree 4,5 --keep Region --least-cost --no-certify"),
    ("estimate given/contradicting.csv --out a",),
    (
        "ledger new given/rules/ledger.json --total person:bounded:20",
        "ledger witness given/rules/ledger.json --to given/witness.txt",
        "policy show given/rules",
        "policy check given/rules/discreet-policy.toml",
    ),
    *(
        (
            f"policy check given/{one}/discreet-policy.toml",
            f"ledger new given/{one}/ledger.json --total person:bounded:20",
            f"policy show given/{one}",
        )
        for one in ("signed", "twice")
    ),
    *((f"safetab account given/{one}/specification.toml",) for one in ("pure", "bare", "both")),
    ("safetab design given/pure/specification.toml",),
    ("safetab run given/pure/specification.toml given/pure out --no-ledger",),
    ("compare given/laplace.toml given/one.toml --delta 1e-10", "show given/laplace.toml"),
    (
        "show given/table.toml",
        "account given/table.toml --delta 1/5 --epsilon 1",
        "compare given/table.toml given/power.toml --delta 1/5",
        "compare given/power.toml given/table.toml --delta 1/5",
        "risk release given/table.toml",
        "risk explain given/table.toml",
        "report given/table.toml --out report.html",
    ),
    ("show given/power.toml", "account given/power.toml --delta 1e-6", "risk release given/power.toml"),
    (SURVEY, "measure given/power.toml --counts given/power.csv --rehearsal 1 --out power"),
    ("calibrate given/laplace.toml --epsilon 1 --delta 1e-10", "account given/laplace.toml --delta 1e-10"),
    ("risk release given/laplace.toml", "risk release given/one.toml", "risk explain given/laplace.toml"),
    ("accuracy given/merged.toml --tree given/merged.csv",),
    (
        "measure given/one.toml --counts given/counts.csv --out a --rehearsal 1",
        "estimate a --out b",
        "verify given/laplace.toml --epsilon 3 --delta 1e-10",
    ),
    ("risk table given/rows.csv --prior-column chance --known-column others",),
    ("ledger new a.json --total person:bounded:20@1e-10", "ledger show a.json"),
    ("risk single --noisy 1 --noisy 2 --variance 5 --prior 1/2 --unsure 1 --chance 1/2",),
    ("verify pl94-2020-units pl94-2020-units --epsilon 1 --delta 1e-10",),
    ("account dhc-2022-08-25 --delta 1e-10 --epsilon 4 --certify",),
    ("account dhc-2022-08-25 --delta 1e-10 --accuracy 1e-4",),
    ("account sdhc-2020 --delta 1e-10",),
    ("account pl94-2020-units pl94-2020-units --delta 1e-10 --main-path",),
    (SURVEY, LEDGER, REAL, "account survey/discreet-ledger.json --delta 1e-10", "ledger show survey"),
    (SURVEY, "accuracy survey --tree 4,5", "accuracy pl94-2020-units"),
    ("calibrate dhc-2022-08-25 --zcdp --delta 1e-10 --by level",),
    ("calibrate dhc-2022-08-25 --epsilon 20 --delta 1e-10 --certify",),
    ("calibrate given/one.toml --epsilon 2 --delta 1e-10 --law best",),
    ('calibrate given/one.toml --epsilon 2 --delta 1e-10 --law laplace --for "P(>9)"',),
    ("calibrate given/laplace.toml --epsilon 1 --delta 0 --law best",),
    ("plan pl94-2020-units --keep Tract --least-cost --law laplace",),
    ("calibrate dhc-2022-08-25 --risk right=60%,prior=1/2 --delta 1e-10",),
    ("calibrate dhc-2022-08-25 --risk guess=1/2016,most=5% --delta 1e-10",),
    ("calibrate dhc-2022-08-25 --risk belief=70%,prior=1/10,chance=1/20 --delta 1e-10",),
    (SURVEY, "check-records survey/records.csv --release survey --suggest"),
    (SURVEY, "check-records survey/units.csv --release survey --units survey/units.csv --suggest"),
    (SURVEY, f"{_INIT} --epsilon 4 --delta 1e-6 --out a", f"{_INIT} --margin 9 --missing leave-out --out b"),
    (SURVEY, "compare survey survey --delta 1e-10", "compare survey pl94-2020-persons --delta 1e-10"),
    (
        SURVEY,
        f"{REAL} --no-ledger",
        "estimate noisy --out a --tables",
        "estimate noisy --out t.csv --print age",
    ),
    (SURVEY, MEASURE, "estimate noisy --out tables --microdata --histogram", "check-tables tables"),
    ("check-tables given/wrong",),
    (
        SURVEY,
        f"{REAL} --no-ledger --post tables --invariant Region/total",
        "estimate noisy --out b --microdata",
    ),
    (SURVEY, MEASURE, "estimate noisy --out draws --query total --draws 3 --seed 1"),
    (SURVEY, MEASURE, "estimate noisy --out t.xlsx --print 'age * limitation'"),
    (SURVEY, MEASURE, f"estimate {NOISY} --out a --release survey --units survey/units.csv"),
    (SURVEY, MEASURE, f"estimate {NOISY} --out a --units survey/units.csv"),
    ("help", "help account", "help presets", "help trade-off curve"),
    ("example rules --name policy", "example detailed --name birthplace"),
    ("explain --epsilon 1 --delta 0 --prior 1/2 --guess 1/100 --false-positive-rate 1e-3",),
    (SURVEY, LEDGER, f"{REAL} --post consistent --invariant Region/total"),
    (
        SURVEY,
        LEDGER,
        "ledger sign survey --key ledger.key",
        f"{REAL} --key ledger.key",
        "ledger show survey",
        "ledger check survey noisy",
        "ledger witness survey --to witness.txt",
        "ledger check survey --witness 9:0000-0000-0000-0000-0000-0000-0000-0000",
        "ledger witness survey 9:0000-0000-0000-0000-0000-0000-0000-0000",
    ),
    (SURVEY, "ledger new a.json", "ledger total a.json person:bounded:3/2 --reason why", MEASURE),
    (SURVEY, "plan survey --tree survey/units.csv --keep Region --keep District:age --least-cost"),
    (SURVEY, "plan survey --tree survey/units.csv --keep Region --epsilon 0.01"),
    (
        "example survey --name policy",
        SURVEY,
        "policy show survey/records.csv",
        "policy sign survey/discreet-policy.toml --key a.key",
        "policy check survey/discreet-policy.toml",
    ),
    (SURVEY, "report survey --out report.html --before survey --no-savings --delta 1e-8 --delta 1e-5"),
    ("report dhc-2022-08-25 --out report.html",),
    ("reproduce --list", "reproduce reduced-noise"),
    ("cellkey check D5V3js2 --delta 0.3 --delta 0.01 --epsilon 1/2 --epsilon 1",),
    ("cellkey check given/ptable.csv",),
    ("cellkey account given/ptable.csv --cells given/nested.csv --neighbours bounded",),
    ("cellkey account D2V1 --cells given/nested.csv --published total --delta 0.3 --delta 0.7",),
    ("cellkey account D2V1 --attributes sex=2 --neighbours bounded --least 2 --delta 0.5",),
    ("cellkey account D2V1 --attributes sex=2,age=2 --least 2 --epsilon 1",),
    ("cellkey design 5 --epsilon 1 --delta 0.01 --out table.csv --csv commas.csv",),
    ("cellkey design 5 --epsilon 1 --variance 3 --zeros public --small 2 --monotone",),
    ("cellkey design 5 --delta 0.25 --variance 4 --zeros kept",),
    (
        SURVEY,
        "cellkey design 5 --epsilon 1 --delta 0.01 --out table.csv",
        "ledger new ledger.json",
        "cellkey run survey/records.csv --table table.csv --attributes survey/release.toml "
        "--secret secret.json --out out --order 1 --zeros --ledger ledger.json",
        "ledger show ledger.json",
    ),
    (
        SURVEY,
        "cellkey run survey/records.csv --table D5V3js2 --attributes survey/release.toml --rehearsal 1 "
        "--out out",
    ),
    ("risk single --noisy 1 --noisy -4 --rho 0.099 --prior 1/2 --prior 1/100",),
    ("risk single --noisy 14 --known 12 --variance 10 --prior 1/2 --loss 0 2 1 0",),
    ("risk single --noisy 3 --variance 10 --prior 1/2 --unsure 20 --chance 1/10",),
    ("risk hierarchy --area name=a,noisy=2,rho=0.1 --area name=b,noisy=9,variance=5 --prior 1/2",),
    (
        "risk hierarchy --area name=a,noisy=2,rho=0.1,siblings=3,siblings-noisy=5 "
        "--area name=b,noisy=9,variance=5 --prior 1/2 --method gibbs --draws 500 --seed 1",
    ),
    ("risk categories --cells 5 --variance 5.04",),
    ("risk categories --cells 3 --variance 5 --asked x --asked y --asked x",),
    ("risk categories --cells 3 --variance 5 --total 4 --draws 100 --seed 1",),
    ("risk categories --table given/cells.csv --variance 5",),
    ("risk categories --table given/groups.csv --variance 5 --total 12",),
    ("risk categories pl94-2020-persons --asked cenrace",),
    ("risk categories --prior 1/2 --prior 1/4 --prior 1/4 --variance 5",),
    ("risk categories --cells 5 --variance 5 --unsure 20 --chance 1/10",),
    ("risk release pl94-2020-units --prior 1/2",),
    ("risk release pl94-2020-units --people 2 --held-exact State:detailed",),
    (SURVEY, "risk release survey --prior 1/2 --main-only", "risk explain survey --prior 1/10"),
    (SURVEY, MEASURE, f"risk table {NOISY} --prior 1/2 --known 0"),
    (SURVEY, MEASURE, f"risk table {NOISY} --prior 1/2 --law flat"),
    (
        SURVEY,
        MEASURE,
        "risk records --records survey/records.csv --noisy noisy --prior flat --prior area --estimates",
    ),
    (SURVEY, f"risk records survey {RECORDS} --prior population --out curator"),
    (
        SURVEY,
        TABULATE,
        "risk audit survey --counts counts/counts.csv --units survey/units.csv --runs 20 "
        "--mechanism 'sed -n -e 1s/count/value/ -e w{out} {in}'",
    ),
    ("safetab init params", "safetab account params"),
    ("safetab init households --spec 2020-h", "safetab account households", "safetab design households"),
    ("safetab design --levels USA,STATE --error 0.2 --derive",),
    ("safetab design --margin COUNTY:2=8 --codes-named 0.9,0.1 --races 1",),
    (
        "example detailed --name birthplace",
        "safetab account detailed/specification.toml",
        "safetab validate detailed/specification.toml detailed",
        "safetab run detailed/specification.toml detailed out --no-ledger",
        "safetab report detailed/specification.toml detailed out",
        "safetab design detailed/specification.toml",
    ),
    (NATION, "safetab validate nation/params nation/params"),
    (NATION, f"{TRIAL} --bureau-columns --format parquet --negative drop"),
    (
        NATION,
        "safetab run nation/params nation/data real --no-ledger --no-coterminous",
        "safetab coterminous real --params nation/params --data nation/data --to agreed",
        "safetab post agreed --params nation/params --to final",
    ),
    ("show dhc-2020", "show pl94-2020-units-pr", SURVEY, "show survey"),
    (SURVEY, f"tabulate survey {RECORDS} --out counts --id id --at-most 1"),
    ("verify dhc-2022-08-25 --epsilon 20 --delta 1e-10",),
    ("verify pl94-2020-units --alpha 0.05 --beta 0.5", "verify pl94-2020-units --alpha 0.05 --beta 0.99"),
    (
        "account dhc-2022-08-25 --delta 1e-10 --export out",
        "verify out/certificates/epsilon-at-delta-1e-10.json",
    ),
)
"""More commands, which together print all that commands can print; those of one group follow each other."""


def example_of(command: str) -> list[str]:
    """Return the lines at the end of a help that run as they stand, one after another.

    >>> example_of("account")[0]
    'discreet example survey'
    """
    printed = io.StringIO()
    wide = {"COLUMNS": "500", "NO_COLOR": "1", "TERM": "dumb"}
    with mock.patch.dict(os.environ, wide), contextlib.redirect_stdout(printed):
        assert run([*command.split(), "--help"]) == 0
    unfolded = printed.getvalue().rstrip().replace(" \\\n", " ")
    lines = [" ".join(line.split()) for line in unfolded.splitlines()]
    return lines[lines.index(TRY) + 1 :] if TRY in lines else lines[-1:]


def answers(lines: Sequence[str], files: Mapping[str, str] = GIVEN) -> Iterator[tuple[str, object]]:
    """Run lines one after another in a new directory, each with --json; yield them with what they print."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for name, text in files.items():
                Path("given", name).parent.mkdir(parents=True, exist_ok=True)
                Path("given", name).write_text(text, encoding="utf-8")
            for line in lines:
                words = shlex.split(line.partition(" > ")[0])[1:]
                printed, complaint = io.StringIO(), io.StringIO()
                with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(complaint):
                    run([*words, "--json"])
                found = json.loads(printed.getvalue())
                if "error" in found:
                    raise RuntimeError(f"{line}: {found['error']}")
                yield " ".join(words), found
        finally:
            os.chdir(before)


def command_of(words: str, names: Sequence[str]) -> str:
    """Return the command that a line runs.

    >>> command_of("risk single --noisy 1", ["risk", "risk single", "account"])
    'risk single'
    """
    return max((name for name in names if f"{words} ".startswith(f"{name} ")), key=len, default="")


def can_run(sample: Sequence[str]) -> bool:
    """Whether the guests are there whose commands it runs."""
    return IS_WHOLE or all(command_of(line, schema_names()) for line in sample)


def all_answers() -> dict[str, list[object]]:
    """Return what each command printed, and an error: the examples of all helps, and the samples."""
    names = schema_names()
    found: dict[str, list[object]] = {name: [FIXED[name]] if name in FIXED else [] for name in names}
    journeys = [example_of(name) for name in names if name not in FIXED]
    journeys += [[f"discreet {one}" for one in sample] for sample in SAMPLES if can_run(sample)]
    for journey in journeys:
        for words, answer in answers(journey):
            found[command_of(words, names)].append(answer)
    return found

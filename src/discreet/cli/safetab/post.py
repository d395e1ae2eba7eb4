"""`discreet safetab post`: alone never above combination and no negative counts, in an output that exists."""

from __future__ import annotations

import time

from cyclopts import App

from discreet.cli import options
from discreet.cli.safetab.coterminous import Format, Params, Released, To, show

app = App(
    name="post",
    usage="Usage: discreet safetab post OUT --params DIR --to DIR [OPTIONS]",
    help_epilogue="Examples:\n  discreet safetab post published --params params --to final",
)


@app.default
def post(
    released: Released,
    /,
    *,
    params: Params,
    to: To,
    format: Format = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Drop groups whose alone count exceeds the combination count; no negative counts. Nothing is spent."""
    started = time.perf_counter()
    from discreet.release.safetab.postprocessing import postprocess

    done = postprocess(released, to, params=params, format=format)
    show(done, time.perf_counter() - started, json=json, quiet=quiet)

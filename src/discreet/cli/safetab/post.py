"""`discreet safetab post`: alone never above combination and no negative counts, in an output that exists."""

from __future__ import annotations

from cyclopts import App

from discreet.cli.printing import PLAIN, Screen
from discreet.cli.safetab.coterminous import Format, Params, Released, To, about

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
    screen: Screen = PLAIN,
) -> None:
    """Drop groups whose alone count exceeds the combination count; no negative counts. Nothing is spent."""
    from discreet.release.safetab.postprocessing import postprocess

    done = postprocess(released, to, params=params, format=format)
    screen.present(done.as_dict, about(done), timed=True)

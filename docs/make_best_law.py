"""Makes the picture of docs/explanation/best-law.md: `python docs/make_best_law.py`.

The variance that a law needs for one promise, by its exponent, beside that of Gaussian noise, for several
numbers of counts. Prints the numbers that are drawn.
"""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from discreet import calibrate
from discreet.noise import DiscreteGaussian

IMAGE = Path(__file__).parent / "images" / "best-law.png"
COUNTS = (3, 10, 30, 80)
EPSILON, DELTA = 10, "1e-10"


def main() -> None:
    """Find the least variances, and draw them."""
    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    axes = figure.subplots()
    for counts in COUNTS:
        start = [DiscreteGaussian(variance=counts, times=counts)]
        found = calibrate(start, epsilon=EPSILON, delta=DELTA, law="best", proof=False).law
        assert found is not None
        assert found.gaussian is not None
        tried = sorted((float(one.exponents[0]), one.value / found.gaussian.variance) for one in found.tried)
        print(counts, [(p, round(ratio, 4)) for p, ratio in tried], flush=True)
        axes.plot(*zip(*tried, strict=True), marker=".", label=f"{counts} counts")
    axes.axhline(1.0, color="0.6", linewidth=0.8)
    axes.set(
        xlabel="exponent: 1 is discrete Laplace, 2 discrete Gaussian",
        ylabel="variance, beside Gaussian noise",
        ylim=(0, 2),
        title=f"Variance needed for epsilon {EPSILON} at delta {DELTA}",
    )
    axes.legend()
    figure.savefig(IMAGE, dpi=110)


if __name__ == "__main__":
    main()

"""Shapes of areas from a GeoJSON file of the user, by a property that names them. Nothing is fetched.

Only polygons are read (RFC 7946: Polygon and MultiPolygon, coordinates as they are). What is wrong is said of
the file: names of properties are public, values of the data are not in it.
"""

from __future__ import annotations

import json
import math
from pathlib import Path

from discreet.errors import InputError
from discreet.files import FilePath, readable

Ring = tuple[tuple[float, float], ...]
"""Points of a closed line; outer ones run against the clock, those of holes with it."""

Shapes = dict[str, tuple[Ring, ...]]
"""The rings of each area, by its name."""

_MOST_BYTES = 500_000_000


def read_shapes(path: FilePath, key: str | None = None) -> Shapes:
    """Return the polygons of a GeoJSON file by the property `key`, or by the only one if there is one.

    >>> import tempfile
    >>> square = [[[0, 0], [0, 1], [1, 1], [1, 0], [0, 0]]]
    >>> feature = {"type": "Feature", "properties": {"name": "A"},
    ...            "geometry": {"type": "Polygon", "coordinates": square}}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "map.geojson")
    ...     _ = file.write_text(json.dumps({"type": "FeatureCollection", "features": [feature]}))
    ...     shapes = read_shapes(file, "name")
    >>> shapes["A"][0][:2]     # turned, so that it runs against the clock
    ((0.0, 0.0), (1.0, 0.0))
    """
    file = Path(path)
    with readable(file):
        if file.stat().st_size > _MOST_BYTES:
            raise InputError(f"{file.name} has more than {_MOST_BYTES:,} bytes; simplify its shapes")
        text = file.read_text(encoding="utf-8-sig", errors="replace")
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise InputError(f"{file.name} is no GeoJSON: it cannot be read as JSON") from None
    features = document.get("features") if isinstance(document, dict) else None
    if not isinstance(features, list) or not features:
        raise InputError(f"{file.name} has no features; a GeoJSON FeatureCollection of polygons is needed")
    names = _key(features, key, file.name)
    shapes: Shapes = {}
    for number, feature in enumerate(features, 1):
        where = f"feature {number} of {file.name}"
        properties = feature.get("properties") if isinstance(feature, dict) else None
        value = properties.get(names) if isinstance(properties, dict) else None
        if not isinstance(value, str | int) or isinstance(value, bool):
            raise InputError(f"a feature has no text or whole number as property {names!r} ({where})")
        rings = _rings(feature.get("geometry"), where)
        shapes[str(value)] = (*shapes.get(str(value), ()), *rings)
    return shapes


def _key(features: list[object], key: str | None, where: str) -> str:
    keys = dict.fromkeys(
        str(name)
        for feature in features[:1000]
        if isinstance(feature, dict) and isinstance(feature.get("properties"), dict)
        for name in feature["properties"]
    )
    listed = ", ".join(map(repr, list(keys)[:20])) or "none"
    if key is None:
        if len(keys) != 1:
            raise InputError(f"{where}: name the property that names the areas (--shape-key): {listed}")
        return next(iter(keys))
    if key not in keys:
        raise InputError(f"{where}: no feature has a property {key!r}; it has {listed}")
    return key


def _rings(geometry: object, where: str) -> list[Ring]:
    kind = geometry.get("type") if isinstance(geometry, dict) else None
    if not isinstance(geometry, dict) or kind not in ("Polygon", "MultiPolygon"):
        raise InputError(f"a geometry is no Polygon or MultiPolygon ({where})")
    polygons = geometry.get("coordinates")
    if kind == "Polygon":
        polygons = [polygons]
    rings: list[Ring] = []
    try:
        for polygon in polygons or ():
            for number, line in enumerate(polygon):
                ring = tuple((float(point[0]), float(point[1])) for point in line)
                if len(ring) < 3 or not all(math.isfinite(x) for point in ring for x in point):
                    raise ValueError
                rings.append(ring if (_area(ring) > 0) == (number == 0) else ring[::-1])
    except (TypeError, ValueError, IndexError):
        raise InputError(f"the coordinates of a polygon are no lines of points ({where})") from None
    if not rings:
        raise InputError(f"a polygon has no coordinates ({where})")
    return rings


def _area(ring: Ring) -> float:
    """Twice the signed area: positive against the clock."""
    closed = zip(ring, (*ring[1:], ring[0]), strict=True)
    return sum(x * v - u * y for (x, y), (u, v) in closed)

"""The obvious tile coder in plain Python: no arrays; what can be computed once is."""

from collections.abc import Sequence


class PlainTileCoder:
    """Tile coding of one observation at a time, on lists of floats; the places are those of ``rlsuite.TileCoding``.

    Tiling t is displaced by t (1, 3, 5, ...) / n tiles, and a tiling has one more tile where it is displaced.
    """

    def __init__(self, low: Sequence[float], high: Sequence[float], n_tilings: int, bins: int) -> None:
        self.low = list(low)
        self.last = bins - 1e-9  # what lies beyond the bounds is in the outer tile
        self.scale = [bins / (end - begin) for begin, end in zip(low, high, strict=True)]
        self.tilings: list[tuple[int, list[tuple[float, int]]]] = []
        first = 0
        for t in range(n_tilings):
            displacements = [t * unit % n_tilings / n_tilings for unit in range(1, 2 * len(self.low), 2)]
            stride, axes = 1, list[tuple[float, int]]()
            for displacement in reversed(displacements):
                axes.insert(0, (displacement, stride))
                stride *= bins + (displacement > 0)
            self.tilings.append((first, axes))
            first += stride

    def __call__(self, observation: Sequence[float]) -> list[int]:
        """List the tile that is active in each tiling."""
        last = self.last
        scaled = [
            min(max((number - low) * scale, 0.0), last)
            for number, low, scale in zip(observation, self.low, self.scale, strict=True)
        ]
        tiles: list[int] = []
        for place, axes in self.tilings:
            for number, (displacement, stride) in zip(scaled, axes, strict=True):
                place += int(number + displacement) * stride
            tiles.append(place)
        return tiles

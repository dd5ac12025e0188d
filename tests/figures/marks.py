"""Finding marks in figures, and whether labels can be read."""

from itertools import combinations

import numpy as np
from matplotlib.text import Text


def drawn(figure, gid):
    """The artists with a gid."""
    return figure.findobj(lambda artist: artist.get_gid() == gid)


def one(figure, gid):
    """The only artist with a gid."""
    (artist,) = drawn(figure, gid)
    return artist


def names_shown(figure, gid="end-label"):
    """What the labels say, from top to bottom."""
    figure.draw_without_rendering()
    labels = sorted(drawn(figure, gid), key=lambda label: -label.get_window_extent().y0)
    return [label.get_text() for label in labels]


def texts_of(figure):
    """All texts that are drawn; ticks beyond the ends of an axis are not."""
    axes = [axis for ax in figure.axes for axis in (ax.xaxis, ax.yaxis)]
    hidden = {label for axis in axes for tick in (*axis.majorTicks, *axis.minorTicks) for label in tick.findobj(Text)}
    shown = {label for axis in axes for tick in axis._update_ticks() for label in tick.findobj(Text)}
    return [text for text in figure.findobj(Text) if text.get_text().strip() and (text not in hidden or text in shown)]


def assert_readable(figure):
    """All texts lie within the figure, and no two cover each other."""
    figure.draw_without_rendering()
    boxes = [(text.get_text(), text.get_window_extent()) for text in texts_of(figure) if text.get_visible()]
    for text, box in boxes:
        assert box.x0 > -2, text
        assert box.x1 < figure.bbox.width + 2, text
        assert box.y0 > -2, text
        assert box.y1 < figure.bbox.height + 2, text
    for (first, a), (second, b) in combinations(boxes, 2):
        across, up = min(a.x1, b.x1) - max(a.x0, b.x0), min(a.y1, b.y1) - max(a.y0, b.y0)
        assert across < 1.5 or up < 0.25 * min(a.height, b.height), f"{first!r} covers {second!r}"


def crowd(n):
    """Names of n algorithms, some of them hard to show."""
    hard = ["a-very-long-name-with-many-options=3", "$x^2$ and $", "_hidden", "BIPOP-CMA-ES"]
    return [*hard, *(f"variant {k}" for k in range(n))][:n]


def step_values(line):
    """Data of a line as arrays."""
    return np.asarray(line.get_xdata(), dtype=float), np.asarray(line.get_ydata(), dtype=float)

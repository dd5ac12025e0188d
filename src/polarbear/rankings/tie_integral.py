"""The mean log-likelihood over all orders of a tie, as an integral.

In a random order of k tied items, the m not yet chosen are a uniformly random subset A of size m. With b the sum of the
ratings of everything ranked below and s_A that of A, the logarithms of the choices' denominators add up on average to

    F(θ, b) = Σ_{m = 1 … k} E_{|A| = m} log(b + s_A).

Two identities turn the sum over 2^k − 1 subsets into products of k factors:

- log x = ∫₀^∞ (e^{−u} − e^{−ux}) du/u;
- a subset that includes each item with the same probability p, itself uniform on (0, 1), has size m with probability
  1 / (k + 1), and all subsets of that size are equally likely. So the sum over m = 0 … k of the means
  E_{|A| = m} e^{−u s_A} is (k + 1) ∫₀¹ Π_i (1 − p dᵢ) dp with dᵢ = 1 − e^{−uθᵢ}.

The errors of both integrals are bounded for any ratings:

- The integrand is a polynomial in p of degree k whose roots are not below 1. With D = Σ dᵢ, its derivative of order 2N
  is at most k! / (k − 2N)! (D / k)^{2N}, which bounds the error of N Gauss–Legendre nodes.
- In log u the integrand is analytic within π/2 of the real line. The error of the trapezoidal rule with step h is at
  most 4 |Γ(2πi/h)| for each logarithm, however large or small x is: 1e-12 with h = ½ log 2. With this h, dᵢ at one node
  becomes dᵢ + dᵢ (1 − dᵢ) at the next but one.
- The infinitely many nodes with u x ≤ 2 for all x are replaced by the six of the Gauss rule for their sum.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from math import inf, lgamma, log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from polarbear.records import FloatArray, IntArray

_STEP = 0.5 * log(2.0)
_REACH = 2.0
_SMALL_NODES = 6
_FADED = 25.0
"""Nodes end where e^{−ux} is below e^{−25} for the smallest x."""
_LEAST = 1e-300
"""Smaller sums of ratings are raised to this, so that the number of nodes is finite."""
_TOLERANCE = 1e-12
_ENTRIES_AT_ONCE = 1 << 15
_ENTRIES_OF_ALL_NODES = 1 << 18


class TieExpansion(NamedTuple):
    """F of C columns, and its derivatives by the logarithms of the ratings.

    F grows by k log c when all ratings are multiplied by c. So each row of its Hessian sums to zero, and the
    off-diagonal entries, none of which is positive, determine it.

    Attributes:
        value: (C,) F.
        tied: (k, C) derivatives by log θᵢ.
        below: (C,) derivative by log b.
        pairs: (C, k, k) negative second derivatives by log θᵢ and log θⱼ; the diagonal is undefined.
        across: (C, k) negative second derivatives by log θᵢ and log b.
        within: (C,) b² Σ_m E (b + s_A)⁻², which two items below share in proportion to their parts of b.
    """

    value: FloatArray
    tied: FloatArray
    below: FloatArray
    pairs: FloatArray
    across: FloatArray
    within: FloatArray


class TieNodes(NamedTuple):
    """Nodes (u, p) of both integrals together, for ratings whose sum, including those below, is at most 1.

    F is approximately a constant minus Σ weights · e^{−ub} (Π_i (1 − p dᵢ) − (1 − p)^k), where no factor is negative.

    Attributes:
        u: (N,) nodes of the integral over u.
        p: (N,) nodes of the integral over p.
        weights: (N,) weights of the nodes.
        constant: The constant.
    """

    u: FloatArray
    p: FloatArray
    weights: FloatArray
    constant: float


def tie_nodes(size: int, smallest: float) -> TieNodes:
    """The nodes for ties of `size` k if the smallest tied rating and those below add up to at least `smallest`.

    A smaller `smallest` adds nodes of the same kind at the end.
    """
    return _all_nodes(size, _last(np.array([smallest])).tolist()[0])


@cache
def _all_nodes(size: int, last: int) -> TieNodes:
    small, small_weights = _small_nodes()
    u = np.array([*small, *(_node_u(j) for j in range(1, last + 1))])
    weights = np.array([*small_weights, *[_STEP] * last])
    points, shares, _ = _legendre(size // 2 + 1)
    constant = size * (float(weights.sum()) - _beyond(last))
    by_node = (size + 1) * weights[:, np.newaxis] * shares
    return TieNodes(np.repeat(u, points.size), np.tile(points, u.size), by_node.ravel(), constant)


def tie_value(tied: FloatArray, below: FloatArray) -> FloatArray:
    """(C,) values of F.

    Args:
        tied: (k, C) ratings of the tied items.
        below: (C,) sums of the ratings of the items ranked below, on the same arbitrary scale.
    """
    value = np.empty(below.size)
    for chosen, part in _parts(tied, below):
        total = part.constant.copy()
        for node in part.nodes():
            product = np.multiply.reduce(node.fours(), axis=1)
            total += node.weight * (part.size - node.held(node.shares @ product))
        value[chosen] = total
    return value


def tie_slope(tied: FloatArray, below: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """F (C,) and its derivatives by log θᵢ (k, C) and log b (C,), for the same arguments as `tie_value`."""
    value, by_tied, by_below = np.empty(below.size), np.empty(tied.shape), np.empty(below.size)
    for chosen, part in _parts(tied, below):
        total, pull, push = part.constant.copy(), np.zeros_like(part.tied), np.zeros_like(part.below)
        for node in part.nodes():
            mean, slope = node.slope()
            held = node.held(mean)
            total += node.weight * (part.size - held)
            push += (node.weight * node.u) * held
            slope *= (node.weight * node.u * (part.size + 1)) * node.faded
            slope *= 1.0 - node.gone
            pull += slope
        value[chosen], by_below[chosen] = total, part.below * push
        by_tied[:, chosen] = (part.tied * pull)[: part.size]
    return value, by_tied, by_below


def tie_expansion(tied: FloatArray, below: FloatArray) -> TieExpansion:
    """F to second order, for the same arguments as `tie_value`.

    The pairs' second derivatives are a sum over all nodes (u, p), the product of a matrix with its own transpose.
    """
    size, columns = tied.shape
    expansion = TieExpansion(
        np.empty(columns),
        np.empty((size, columns)),
        np.empty(columns),
        np.empty((columns, size, size)),
        np.empty((columns, size)),
        np.empty(columns),
    )
    for chosen, part in _parts(tied, below, all_nodes=True):
        nodes = [replace(node, gone=node.gone[:size].copy()) for node in part.nodes()]
        orders = [node.points.size for node in nodes]
        which, starts = np.repeat(np.arange(len(nodes)), orders), np.cumsum([0, *orders[:-1]])
        points, shares = (np.concatenate(parts) for parts in zip(*((x.points, x.shares) for x in nodes), strict=True))
        u, weights = np.array([(node.u, node.weight) for node in nodes]).T
        faded = np.stack([node.faded for node in nodes], axis=1)
        gone = np.stack([node.gone.T for node in nodes], axis=2)

        factors = 1.0 - gone[:, :, which] * points
        mass = np.multiply.reduce(factors, axis=1) * shares
        held = faded * ((size + 1) * np.add.reduceat(mass, starts, axis=1) - 1.0)
        mass *= (size + 1) * (weights * faded)[:, which]
        np.divide((part.tied[:size].T[:, :, np.newaxis] * (u * (1.0 - gone)))[:, :, which], factors, out=factors)
        factors *= points
        by_b = part.below[:, np.newaxis] * u
        derivatives = factors @ np.stack([mass, mass * by_b[:, which]], axis=2)
        factors *= np.sqrt(mass)[:, np.newaxis]

        expansion.value[chosen] = part.constant + (size - held) @ weights
        expansion.tied[:, chosen], expansion.across[chosen] = derivatives[:, :, 0].T, derivatives[:, :, 1]
        expansion.below[chosen] = (held * by_b) @ weights
        expansion.pairs[chosen] = factors @ factors.transpose(0, 2, 1)
        expansion.within[chosen] = (held * by_b**2) @ weights
    return expansion


@dataclass(frozen=True, slots=True, eq=False)
class _Node:
    """One node u of the integral over log u.

    Attributes:
        size: Size k of the tie.
        u: The node.
        weight: Weight of the node.
        gone: (4 m, C) the dᵢ, padded by zeros to a multiple of four.
        faded: (C,) e^{−ub}.
        points: (N,) nodes p.
        shares: (N,) weights of the nodes p.
        powers: (N, 5) powers of −p.
    """

    size: int
    u: float
    weight: float
    gone: FloatArray
    faded: FloatArray
    points: FloatArray
    shares: FloatArray
    powers: FloatArray

    def held(self, mean: FloatArray) -> FloatArray:
        """Σ_{m ≥ 1} E e^{−u (b + s_A)} from the mean product ∫ Π (1 − p dᵢ) dp."""
        return self.faded * ((self.size + 1) * mean - 1.0)

    def fours(self) -> FloatArray:
        """(N, m, C) products of four factors 1 − p dᵢ, as polynomials in −p."""
        first, second = self._halves()
        (sum_1, product_1), (sum_2, product_2) = _pair(*first), _pair(*second)
        terms = np.empty((5, *sum_1.shape))
        terms[0] = 1.0
        np.add(sum_1, sum_2, out=terms[1])
        np.multiply(sum_1, sum_2, out=terms[2])
        terms[2] += product_1
        terms[2] += product_2
        np.multiply(sum_1, product_2, out=terms[3])
        terms[3] += sum_2 * product_1
        np.multiply(product_1, product_2, out=terms[4])
        return (self.powers @ terms.reshape(5, -1)).reshape(-1, *sum_1.shape)

    def slope(self) -> tuple[FloatArray, FloatArray]:
        """(C,) mean product, and (4 m, C) its negative derivatives by the dᵢ."""
        fours = self.fours()
        product = np.multiply.reduce(fours, axis=1)
        product *= self.shares[:, np.newaxis]
        others = np.divide(product[:, np.newaxis, :], fours, out=fours)
        by_term = (self.powers.T @ others.reshape(len(others), -1)).reshape(5, *others.shape[1:])
        first, second = self._halves()
        slope = np.empty_like(self.gone).reshape(2, 2, *others.shape[1:])
        for own, (d1, d2), others_pair in ((slope[0], first, second), (slope[1], second, first)):
            added, multiplied = _pair(*others_pair)
            alone = by_term[1] + by_term[2] * added + by_term[3] * multiplied
            paired = by_term[2] + by_term[3] * added + by_term[4] * multiplied
            own[0] = -alone - d2 * paired
            own[1] = -alone - d1 * paired
        return product.sum(axis=0), slope.reshape(self.gone.shape)

    def _halves(self) -> FloatArray:
        """(2, 2, m, C) the dᵢ in two pairs for each product of four."""
        return self.gone.reshape(2, 2, -1, self.gone.shape[1])


def _pair(d1: FloatArray, d2: FloatArray) -> tuple[FloatArray, FloatArray]:
    return d1 + d2, d1 * d2


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """Columns that share their nodes.

    Attributes:
        size: Size k of the tie.
        tied: (4 m, C) ratings of the tied items, relative to the sum of all, padded by zeros to a multiple of four.
        below: (C,) sum of the ratings of the items below, on the same scale.
        last: Number of nodes of the trapezoidal rule.
        constant: (C,) the part that the sum over nodes leaves out.
    """

    size: int
    tied: FloatArray
    below: FloatArray
    last: int
    constant: FloatArray

    def nodes(self) -> Iterator[_Node]:
        """Yield all nodes in turn; the arrays of each are overwritten two nodes later."""
        for u, weight in zip(*_small_nodes(), strict=True):
            yield self._node(u, weight, -np.expm1(-u * self.tied))
        even_and_odd = [-np.expm1(-_node_u(j) * self.tied) for j in (1, 2)]
        for j in range(1, self.last + 1):
            gone = even_and_odd[(j + 1) % 2]
            if j > 2:
                gone += gone * (1.0 - gone)
            yield self._node(_node_u(j), _STEP, gone)

    def _node(self, u: float, weight: float, gone: FloatArray) -> _Node:
        points, shares, powers = _legendre(_order(self.size, u))
        return _Node(self.size, u, weight, gone, np.exp(-u * self.below), points, shares, powers)


def _parts(tied: FloatArray, below: FloatArray, *, all_nodes: bool = False) -> Iterator[tuple[NDArray[np.intp], _Part]]:
    """Yield columns with about the same range of ratings, as many as fit into the cache, with their indices.

    Args:
        tied: (k, C) ratings of the tied items.
        below: (C,) sums of the ratings of the items below.
        all_nodes: Whether the numbers of all nodes should fit into the cache at once.
    """
    size, columns = tied.shape
    scale = tied.sum(axis=0) + below
    last = _last((tied.min(axis=0) + below) / scale)
    padded = np.zeros((-(-size // 4) * 4, columns))
    padded[:size] = tied / scale
    relative = below / scale
    order = np.argsort(last, kind="stable")
    entries = size * (_order(size, inf) * last[order] if all_nodes else np.ones(columns, np.int64))
    budget = _ENTRIES_OF_ALL_NODES if all_nodes else _ENTRIES_AT_ONCE
    for chosen in np.split(order, 1 + np.flatnonzero(np.diff(np.cumsum(entries) // budget))):
        if chosen.size:
            last_node = int(last[chosen[-1]])
            constant = size * (np.log(scale[chosen]) - _beyond(last_node))
            yield chosen, _Part(size, np.ascontiguousarray(padded[:, chosen]), relative[chosen], last_node, constant)


def _node_u(j: int) -> float:
    """Node j of the trapezoidal rule; node 0 is the largest of the small ones."""
    return _REACH * 2.0 ** (0.5 * j)


def _last(smallest: FloatArray) -> IntArray:
    """Number of nodes that the trapezoidal rule needs, given the smallest sums."""
    return np.ceil(2 * np.log2(_FADED / _REACH / np.maximum(smallest, _LEAST))).astype(np.int64)


def _beyond(last: int) -> float:
    """Σ h (1 − e^{−ux}) over all nodes up to the last one, less log x."""
    return np.euler_gamma + log(_node_u(last)) + 0.5 * _STEP


@cache
def _small_nodes() -> tuple[list[float], list[float]]:
    """The six nodes that replace node 0 and all before it, and their weights.

    They are the Gauss rule of the measure Σ_j h u_j at u_j, which integrates (1 − e^{−ux}) / u.
    """
    nodes = 2.0 ** (-0.5 * np.arange(120.0))
    roots = np.sqrt(_STEP * nodes)
    basis = np.linalg.qr(roots[:, np.newaxis] * np.polynomial.legendre.legvander(2 * nodes - 1, _SMALL_NODES - 1))[0]
    gauss_nodes, vectors = np.linalg.eigh(basis.T @ (nodes[:, np.newaxis] * basis))
    weights = (vectors.T @ (basis.T @ roots)) ** 2
    return (_REACH * gauss_nodes).tolist(), (weights / gauss_nodes).tolist()


@cache
def _legendre(order: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Gauss–Legendre nodes and weights on (0, 1), and powers 0 to 4 of the nodes' negatives."""
    nodes, weights = np.polynomial.legendre.leggauss(order)
    points = 0.5 * (1.0 + nodes)
    return points, 0.5 * weights, np.vander(-points, 5, increasing=True)


@cache
def _order(size: int, most: float) -> int:
    """Number of nodes p that the mean of a product of `size` factors needs if Σ dᵢ is at most `most`."""
    for order in range(1, size // 2 + 1):
        derivative = lgamma(size + 1) - lgamma(size - 2 * order + 1) + 2 * order * log(min(1.0, most / size))
        rule = 4 * lgamma(order + 1) - log(2 * order + 1) - 3 * lgamma(2 * order + 1)
        if derivative + rule < log(_TOLERANCE):
            return order
    return size // 2 + 1

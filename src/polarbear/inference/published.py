"""Models without what makes their posteriors as wide as the instances differ."""

from __future__ import annotations

from dataclasses import replace

from polarbear.inference.dirichlet import IndependentDirichlet
from polarbear.inference.instance_bootstrap import InstanceBootstrap
from polarbear.inference.model import Model
from polarbear.inference.temporal import TemporalModel


def as_published(model: Model) -> Model:
    """The model whose draws are the posterior of its likelihood, which scores and checks need.

    Of a model over time it is that with `repeated` "as published", of `InstanceBootstrap` the independent one.
    """
    if isinstance(model, TemporalModel):
        return replace(model, repeated="as published")
    return IndependentDirichlet(model.alpha) if isinstance(model, InstanceBootstrap) else model

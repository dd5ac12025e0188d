"""Tasks that cannot be opened where they are to be executed."""

import pickle
from concurrent.futures import Executor, Future

import pytest

from polarbear.experiment import WorkerPool, execute, run_tasks
from polarbear.experiment.tasks import WorkerUnprepared
from polarbear.extras import optional


class Unopened:
    """An optimizer that can be packed, and not opened."""

    def __init__(self, error):
        self.error = error

    def __reduce__(self):
        return raise_it, (self.error,)


def raise_it(error):
    raise error


class Travelling(Executor):
    """Executes calls in this process, after they have travelled twice, as to a cluster's worker and its process."""

    def submit(self, fn, /, *args, **kwargs):
        future = Future()
        packed = pickle.dumps(pickle.loads(pickle.dumps((fn, args, kwargs))))
        try:
            fn, args, kwargs = pickle.loads(packed)
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


@pytest.mark.parametrize(
    ("error", "lacks", "mend"),
    [
        (ModuleNotFoundError("No module named 'a.b'", name="a.b"), "there is no module 'a.b'", "Install a for all"),
        (AttributeError("no such class"), "AttributeError: no such class", "Use the same versions"),
    ],
)
def test_the_run_what_is_missing_and_the_mend_are_named_and_what_is_in_comes_first(task, error, lacks, mend):
    tasks = [task(Unopened(error), evaluations=5), *(task(seed=seed, evaluations=5) for seed in range(9))]
    runs = []
    with pytest.raises(WorkerUnprepared) as caught:
        runs.extend(run_tasks(tasks, Travelling()))
    assert str(caught.value).startswith(f"the run of {tasks[0].key} did not start: a worker could not load it (")
    assert f"): {lacks}. Finished runs are kept. {mend}" in str(caught.value)
    assert {run.key: run.trajectory.values.tolist() for run in runs} == {
        each.key: execute(each).trajectory.values.tolist() for each in tasks[1:]
    }


def needs_what_is_not_there(objective, rng):
    objective([1.0, 1.0])
    optional("nowhere", "anything", "this optimizer")


@pytest.mark.parametrize("executor", [Travelling, WorkerPool])
def test_a_package_missing_at_a_worker_is_no_outcome_of_a_run(task, executor):
    message = r"did not start: this optimizer needs nowhere; install it with: pip install 'polarbear.* for all workers"
    with executor() as pool, pytest.raises(WorkerUnprepared, match=message):
        list(run_tasks([task(needs_what_is_not_there, evaluations=5)], pool))

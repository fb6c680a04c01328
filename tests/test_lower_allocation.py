"""What is asked of Slurm for a benchmark's job."""

from typing import Any

import pytest
from configs import command, pools
from plans import DIRECTORY, plan, plans

from gymsubmit.plan import Component, Directive

ANY = {"s": command()}
# What begins every job, and what each component of one says at least.
JOB = (Directive("job-name", "gym-b"), Directive("chdir", str(DIRECTORY)), Directive("output", "logs/job-%j.log"))


def allocation(**compute: Any) -> tuple[Component, ...]:
    return plan(ANY, compute=compute).allocation


def asked(nodes: int, *more: Directive) -> tuple[Directive, ...]:
    return (Directive("nodes", nodes), Directive("ntasks-per-node", 1), *more)


def test_the_least_that_is_asked_for() -> None:
    assert allocation() == (Component(1, (*JOB, *asked(1))),)


def test_everything_that_can_be_asked_for() -> None:
    pool = {
        "partition": "gpu,batch",
        "nodes": 2,
        "ntasks_per_node": 4,
        "cpus_per_task": 8,
        "gpus_per_node": 0,
        "mem": 0,
        "extra_args": {"switches": 1, "constraint": "a|b"},
    }
    made = allocation(
        account="evaluation",
        walltime="1-0",
        exclusive=True,
        qos="high",
        node_pools={"gpu": pool},
        extra_args={"comment": 'say "hi"', "mail-user": "", "signal": None, "contiguous": True, "time-min": 1.5},
    )
    directives: dict[str, str | int | None] = {
        "job-name": "gym-b",
        "account": "evaluation",
        "time": "1-0",
        "chdir": str(DIRECTORY),
        "output": "logs/job-%j.log",
        "partition": "gpu,batch",
        "nodes": 2,
        "ntasks-per-node": 4,
        "cpus-per-task": 8,
        "gpus-per-node": 0,
        "mem": 0,
        "exclusive": None,
        "qos": "high",
        "comment": 'say "hi"',
        "mail-user": None,
        "signal": None,
        "contiguous": None,
        "time-min": "1.5",
        "switches": 1,
        "constraint": "a|b",
    }
    assert made == (Component(2, tuple(Directive(name, value) for name, value in directives.items())),)


def test_each_benchmark_is_a_job_with_its_name_and_directory() -> None:
    made = plans(ANY, driver={"benchmarks": {"a": {}, "b.1": {}}})
    assert [each.allocation[0].directives[:2] for each in made] == [
        (Directive("job-name", "gym-a"), Directive("chdir", "/results/gym-job-1/a")),
        (Directive("job-name", "gym-b.1"), Directive("chdir", "/results/gym-job-1/b.1")),
    ]


def test_pools_are_one_allocation_of_all_their_nodes() -> None:
    node_pools = {
        "a": {"nodes": 2, "partition": "p", "extra_args": {"comment": "a", "switches": 1}},
        "b": {"nodes": 3, "partition": "p", "extra_args": {"switches": 1, "contiguous": True}},
    }
    more = (Directive("comment", "a"), Directive("switches", 1), Directive("contiguous", None))
    assert allocation(node_pools=node_pools) == (Component(5, (*JOB, Directive("partition", "p"), *asked(5, *more))),)


def test_what_is_left_out_is_not_written() -> None:
    node_pools = {"a": {"extra_args": {"contiguous": False}}}
    assert allocation(node_pools=node_pools, extra_args={"comment": False}) == (Component(1, (*JOB, *asked(1))),)


def test_an_own_job_log_takes_the_place_of_the_usual_one() -> None:
    own = (Directive("output", "/logs/%j"),)
    expected = (Component(1, (*JOB[:2], *asked(1, *own))),)
    assert allocation(extra_args={"output": "/logs/%j"}) == expected
    assert allocation(node_pools={"a": {"extra_args": {"output": "/logs/%j"}}}) == expected
    assert allocation(extra_args={"output": False}) == (Component(1, (*JOB, *asked(1))),)


def test_a_pool_has_the_last_word_on_an_argument() -> None:
    compute = {"comment": "all", "contiguous": True}
    pool = {"comment": "pool", "contiguous": False}
    assert allocation(extra_args=compute, node_pools={"a": {"extra_args": pool}}) == (
        Component(1, (*JOB, *asked(1, Directive("comment", "pool")))),
    )


def test_each_pool_of_a_heterogeneous_job_is_a_component_and_the_first_speaks_for_the_job() -> None:
    node_pools = {
        "gpu": {"nodes": 2, "partition": "gpu", "gpus_per_node": 8, "extra_args": {"contiguous": True}},
        "cpu": {"nodes": 3, "partition": "cpu", "mem": "64G", "extra_args": {"comment": "cpu"}},
    }
    made = plan(
        {"s": command(), "c": command(node_pool="cpu")},
        compute={
            "heterogeneous": True,
            "account": "evaluation",
            "walltime": "60",
            "exclusive": True,
            "qos": "high",
            "node_pools": node_pools,
            "extra_args": {"comment": "all"},
        },
    )
    job = (JOB[0], Directive("account", "evaluation"), Directive("time", "60"), *JOB[1:])
    both = (Directive("exclusive", None), Directive("qos", "high"))
    gpu = (Directive("gpus-per-node", 8), *both, Directive("comment", "all"), Directive("contiguous", None))
    cpu = (Directive("mem", "64G"), *both, Directive("comment", "cpu"))
    assert made.allocation == (
        Component(2, (*job, Directive("partition", "gpu"), *asked(2, *gpu))),
        Component(3, (Directive("partition", "cpu"), *asked(3, *cpu))),
    )


@pytest.mark.parametrize("heterogeneous", [True, False])
def test_one_pool_is_one_component(heterogeneous: bool) -> None:
    assert allocation(heterogeneous=heterogeneous, node_pools=pools(a=2)) == (Component(2, (*JOB, *asked(2))),)


def test_this_machine_is_asked_for_nothing() -> None:
    assert allocation(type="local") == ()

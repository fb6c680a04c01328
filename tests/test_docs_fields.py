"""The tables of fields in docs/ are those of the models, and each model has one."""

from collections import Counter
from typing import Annotated, Any

import pytest
from configs import tree, vllm
from doc_pages import load_fields
from pydantic import TypeAdapter

from gymsubmit.cli.executors import executor_for
from gymsubmit.config.submit import SubmitConfig
from gymsubmit.errors import NotInThisVersionError
from gymsubmit.lower import Run, lower

FIELDS = load_fields()

# A config that uses each of the fields that are said to be in no job yet.
UNUSED: dict[tuple[str, str], dict[str, Any]] = {
    ("VllmService", "use_ray_serve"): tree({"policy": vllm(use_ray_serve=True)}),
    ("SlurmCompute", "transport"): tree(compute={"hostname": "elsewhere", "transport": "openssh"}),
    ("Benchmark", "resumable"): tree(driver={"benchmarks": {"b": {"run": {"a": 1}, "resumable": True}}}),
    ("SubmitConfig", "otel"): tree(otel={"endpoint": "http://collector:4317", "service_name": "evaluation"}),
    ("SubmitConfig", "site"): tree(site="here"),
}


@pytest.mark.parametrize("page", sorted(FIELDS.read()))
def test_tables_are_those_of_the_models(page: str) -> None:
    pages = FIELDS.read()
    assert pages[page] == FIELDS.written(pages)[page], "run python docs/fields.py, and read what it changed"


def test_every_model_has_one_table() -> None:
    tables = Counter(name for text in FIELDS.read().values() for _, name, _ in FIELDS.TABLE.findall(text))
    assert tables == Counter(list(FIELDS.models()))


def test_every_field_is_described_in_a_sentence() -> None:
    bare = [
        f"{name}.{field}"
        for name, model in FIELDS.models().items()
        for field, info in model.model_fields.items()
        if not (info.description or "").endswith(".")
    ]
    assert bare == []


def test_every_required_field_has_an_example_that_is_right() -> None:
    """The schema shows it, and it stands in for a refused value, so that the rest of a config can be checked."""
    for name, model in FIELDS.models().items():
        for field, info in model.model_fields.items():
            if info.is_required() and field != "type":
                adapter = TypeAdapter(Annotated[info.annotation, info])
                assert [adapter.validate_python(example) for example in info.examples or ()], f"{name}.{field}"


def test_fields_of_no_job_are_known() -> None:
    assert set(UNUSED) == FIELDS.NOT_IN_THIS_VERSION


@pytest.mark.parametrize("field", UNUSED, ids=".".join)
def test_fields_of_no_job_are_refused(field: tuple[str, str]) -> None:
    config = SubmitConfig.model_validate(UNUSED[field])
    with pytest.raises(NotInThisVersionError):
        lower(config, Run.of(config))
        executor_for(config)

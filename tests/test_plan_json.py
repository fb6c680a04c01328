import json

from configs import vllm
from plans import plan

from gymsubmit.plan_json import plan_json

AWKWARD = "'\"\\ \t\n\x7f\u2028 中 é </script>"


def test_it_is_indented_json_whatever_the_plan_holds() -> None:
    made = plan(
        {"policy": vllm(extra_args=[f"--{AWKWARD}"], env={"A": f"lit:{AWKWARD}", "B": "host:B", "C": "runtime:C"})},
        driver={"benchmarks": {"b": {"command": f"#!/usr/bin/env python3\n{AWKWARD}"}}},
    )
    text = plan_json(made)
    assert text == json.dumps(json.loads(text), indent=2, ensure_ascii=False) + "\n"
    launch = json.loads(text)["steps"][0]["launch"]
    variables = {variable["name"]: variable["value"] for variable in launch["env"]}
    assert (variables["A"], variables["B"]) == (AWKWARD, {"kind": "secret", "name": "B"})
    assert (launch["placement"]["hosts"], launch["placement"]["het_group"]) == (None, None)

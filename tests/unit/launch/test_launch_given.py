"""What manifests and CI files give to the commands in them."""

from __future__ import annotations

import pytest

from mlacheck.launch.file.read import read_bytes

POD = "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - image: vllm/vllm-openai:v0.33.0\n"
GROUP = """apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
spec:
  leaderWorkerTemplate:
    size: 3
    workerTemplate:
      spec:
        containers:
        - image: vllm/vllm-openai:v0.33.0
          %s
"""


def read(text, name="x.yaml", **options):
    return read_bytes(text.encode(), name, **options)


@pytest.mark.parametrize(
    "text",
    [
        "on: push\nenv: {TP: 3}\njobs: {a: {steps: [{run: vllm serve Q/m -tp $TP}]}}\n",
        "jobs: {a: {env: {TP: 3}, steps: [{run: vllm serve Q/m -tp $TP}]}}\n",
        "env: {TP: 2}\njobs: {a: {steps: [{env: {TP: 3}, run: vllm serve Q/m -tp $TP}]}}\n",
        "variables: {TP: 3}\njob: {script: [vllm serve Q/m -tp $TP]}\n",
        "variables: {N: 3}\njob: {variables: {TP: {value: $N}}, script: [vllm serve Q/m -tp $TP]}\n",
    ],
)
def test_ci_files_set_the_variables_of_their_scripts(text):
    [command] = read(text).commands
    assert command.argv == ("--model", "Q/m", "-tp", "3")


def test_variables_of_another_job_and_of_templates_are_open():
    text = "a: {variables: {TP: 3}}\nb: {script: [vllm serve Q/m -tp $TP]}\n"
    assert read(text).commands[0].unknown
    text = "env: {TP: '${{ inputs.tp }}'}\njobs: {a: {steps: [{run: vllm serve Q/m -tp $TP}]}}\n"
    assert read(text).commands[0].unknown


def test_a_group_tells_its_size():
    for given in (
        'args: [Q/m, -tp, "$(LWS_GROUP_SIZE)"]',
        'command: [sh, -c, "vllm serve Q/m -tp $LWS_GROUP_SIZE"]',
    ):
        [command] = read(GROUP % given).commands
        assert command.argv == ("--model", "Q/m", "-tp", "3")
        assert not command.env


def test_a_variable_that_no_shell_reads_waits_for_a_tool():
    text = f'{POD}    args: [Q/m, -tp, "${{TP}}"]\n'
    result = read(text)
    assert [one.kind for one in result.problems] == ["not-rendered"]
    assert result.commands[0].unknown == {3: ("${TP}",)}
    assert read(text.replace("{TP}", "{TP:-3}")).commands[0].unknown == {3: ("${TP:-3}",)}
    settled = read(text, env={"TP": "3"})
    assert not settled.problems
    assert settled.commands[0].argv[-1] == "3"
    assert not read(f'{POD}    command: [sh, -c, "TP=3; vllm serve Q/m -tp ${{TP}}"]\n').problems


def test_the_api_server_takes_strings_alone():
    env = "[{name: A, value: 1}, {name: B, value: '1'}]"
    text = f"{POD}    args: [Q/m, -tp, 3, --x, '3', --y, true]\n    env: {env}\n"
    assert [one.message.split(" in ")[0] for one in read(text).problems] == [
        "the API server refuses 3",
        "the API server refuses true",
        "the API server refuses 1",
    ]
    assert not read("services: {a: {image: 'vllm/vllm-openai:v0.33.0', command: [Q/m, -tp, 3]}}").problems

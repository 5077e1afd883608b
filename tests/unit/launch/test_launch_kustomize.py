"""Kustomize: what a kustomization generates is read, and what it patches is found or told."""

from __future__ import annotations

import pytest

from mlacheck.launch.file.read import read_path

DEPLOYMENT = """
kind: Deployment
spec:
  containers:
    - image: lmsysorg/sglang:v0.5.18
      envFrom: [{configMapRef: {name: llm}}]
      env: [{name: DCP, valueFrom: {configMapKeyRef: {name: llm, key: dcp}}}]
      command: [bash, -c]
      args: ["python3 -m sglang.launch_server --model-path m --tp $TP --dcp-size $DCP"]
"""
KUSTOMIZATION = """
kind: Kustomization
configMapGenerator:
  - name: llm
    literals: [TP=8, "dcp='4'", NOTHING]
  - name: other
    envs: [other.env]
"""


def argv(path):
    [command] = read_path(str(path)).commands
    return " ".join(command.argv)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "deployment.yaml").write_text(DEPLOYMENT)
    return tmp_path


@pytest.mark.parametrize("name", ["kustomization.yaml", "kustomization.yml", "Kustomization"])
def test_generated_maps_settle_the_variables_of_manifests_beside(folder, name):
    (folder / name).write_text(KUSTOMIZATION)
    assert argv(folder / "deployment.yaml") == "--model-path m --tp 8 --dcp-size 4"


def test_files_of_variables_count_too_and_what_is_in_neither_is_told(folder):
    deployment = folder / "deployment.yaml"
    deployment.write_text(DEPLOYMENT.replace("{configMapRef: {name: llm}}", "{configMapRef: {name: other}}"))
    (folder / "other.env").write_text("TP=2\n")
    (folder / "kustomization.yaml").write_text(KUSTOMIZATION)
    assert argv(deployment) == "--model-path m --tp 2 --dcp-size 4"
    (folder / "kustomization.yaml").write_text("kind: Kustomization\nresources: [deployment.yaml]\n")
    assert "env-file-not-read" in [one.kind for one in read_path(str(deployment)).problems]
    (folder / "kustomization.yaml").write_text("kind: [\n")
    assert argv(deployment).endswith("--tp $TP --dcp-size ${DCP}")


def test_commands_in_inline_patches_are_found_with_their_place(tmp_path):
    path = tmp_path / "kustomization.yaml"
    path.write_text(
        "kind: Kustomization\npatches:\n  - patch: |-\n      kind: Deployment\n      spec:\n"
        "        containers:\n          - command: [sglang, serve, m, --tp, '8']\n"
    )
    [command] = read_path(str(path)).commands
    assert command.argv == ("--model-path", "m", "--tp", "8")
    assert (command.words[-1].line, command.source.line) == (7, 7)


def test_flags_that_a_patch_gives_to_another_files_container_are_told(tmp_path):
    path = tmp_path / "kustomization.yaml"
    path.write_text(
        "kind: Kustomization\nimages: [{name: lmsysorg/sglang, newTag: v0.5.18}]\npatches:\n  - patch: |-\n"
        "      - op: replace\n        path: /spec/template/spec/containers/0/args\n"
        "        value: [--model-path, sglang-model, --tp, '8']\n"
        "      - op: replace\n        path: /spec/replicas\n        value: 2\n"
    )
    result = read_path(str(path))
    assert result.commands == ()
    [problem] = result.problems
    assert (problem.kind, problem.level, problem.line) == ("patch", "info", 5)
    assert "kustomize build" in problem.hint

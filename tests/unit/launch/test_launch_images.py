"""Words that a container's image gets, whose own entry point is a server."""

from __future__ import annotations

import pytest

from mlacheck.launch.file.read import read_bytes

IMAGE = "vllm/vllm-openai:v0.33.0"
POD = "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - image: {image}\n    {given}\n"
COMPOSE = "services:\n  a:\n    image: {image}\n    {given}\n"
DOCKERFILE = "FROM {image}\n{given}\n"
ECS = '{{"containerDefinitions": [{{"image": "{image}", {given}}}]}}'


def read(name, form, given, image=IMAGE):
    return read_bytes(form.format(image=image, given=given).encode(), name)


@pytest.mark.parametrize(
    "image", [IMAGE, f"docker.io/{IMAGE}", f"reg.x:5000/y/{IMAGE}", "vllm/vllm-openai@sha256:a"]
)
@pytest.mark.parametrize(
    ("name", "form", "given"),
    [
        ("p.yaml", POD, 'args: ["Q/m", "-tp", "3"]'),
        ("compose.yaml", COMPOSE, 'command: ["Q/m", "-tp", "3"]'),
        ("compose.yaml", COMPOSE, "command: Q/m -tp 3"),
        ("Dockerfile", DOCKERFILE, 'CMD ["Q/m", "-tp", "3"]'),
        ("ecs.json", ECS, '"command": ["Q/m", "-tp", "3"]'),
    ],
)
def test_a_model_before_the_flags_is_what_the_image_serves(name, form, given, image):
    result = read(name, form, given, image)
    assert [one.argv for one in result.commands] == [("--model", "Q/m", "-tp", "3")]
    assert not result.problems


def test_short_flags_alone_are_an_images_too():
    for image in (IMAGE, "me/my-vllm:1"):
        [command] = read("p.yaml", POD, 'args: ["-tp", "3", "--model", "Q/m"]', image).commands
        assert command.argv[:2] == ("-tp", "3")


@pytest.mark.parametrize(
    ("name", "form", "given"),
    [
        ("p.yaml", POD, "args: [vllm, serve, Q/m]"),
        ("p.yaml", POD, 'args: [bash, -c, "vllm serve Q/m"]'),
        ("compose.yaml", COMPOSE, "command: vllm serve Q/m"),
        ("Dockerfile", DOCKERFILE, "CMD vllm serve Q/m"),
        ("Dockerfile", DOCKERFILE, 'CMD ["vllm", "serve", "Q/m"]'),
    ],
)
def test_a_program_that_the_entry_point_takes_for_its_model_is_told(name, form, given):
    result = read(name, form, given)
    assert [one.kind for one in result.problems] == ["entry-point"]
    assert [one.argv for one in result.commands] == [("--model", "Q/m")]
    assert not read(name, form, given, "reg.x/own/server:1").problems


@pytest.mark.parametrize(
    ("name", "form", "given"),
    [
        ("p.yaml", POD, "command: [vllm, serve, Q/m]"),
        ("p.yaml", POD, 'command: [bash, -c]\n    args: ["vllm serve Q/m"]'),
        ("compose.yaml", COMPOSE, "entrypoint: vllm\n    command: serve Q/m"),
        ("Dockerfile", DOCKERFILE, "ENTRYPOINT []\nCMD vllm serve Q/m"),
        ("Dockerfile", DOCKERFILE, 'ENTRYPOINT ["vllm", "serve"]\nCMD ["Q/m"]'),
    ],
)
def test_an_entry_point_that_the_file_sets_is_none_of_the_images(name, form, given):
    result = read(name, form, given)
    assert [one.argv for one in result.commands] == [("--model", "Q/m")]
    assert not result.problems


@pytest.mark.parametrize(
    ("name", "form", "given"),
    [
        ("p.yaml", POD, 'command: ["vllm serve Q/m"]'),
        ("compose.yaml", COMPOSE, 'entrypoint: ["vllm serve Q/m"]'),
        ("Dockerfile", DOCKERFILE, 'ENTRYPOINT ["vllm serve Q/m"]'),
        ("Dockerfile", DOCKERFILE, 'ENTRYPOINT []\nCMD ["vllm serve Q/m"]'),
    ],
)
def test_a_list_is_not_split_at_blanks(name, form, given):
    [problem] = read(name, form, given).problems
    assert (problem.kind, problem.level) == ("one-word", "error")
    assert "'vllm serve Q/m'" in problem.message


def test_a_list_of_a_dockerfile_is_json():
    result = read("Dockerfile", DOCKERFILE, "ENTRYPOINT ['vllm', 'serve', 'Q/m']")
    assert [(one.kind, one.line, one.column) for one in result.problems] == [("not-json", 2, 12)]
    test = read("Dockerfile", DOCKERFILE, 'ENTRYPOINT []\nCMD [ "$X" = y ] && vllm serve Q/m')
    assert not test.problems
    assert len(test.commands) == 1

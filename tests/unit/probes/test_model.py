from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

import pytest

from mlacheck.probes.model import ModelConfig, ModelProblem, find_model, hub_cache

if TYPE_CHECKING:
    from pathlib import Path

CONFIG: dict[str, Any] = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 64}
COMMIT = "0123456789abcdef0123456789abcdef01234567"
CATALOGUE = {
    "models": {
        "org/Big-Model": {
            "config": CONFIG,
            "file": "rules/models/org.yaml",
            "source": "config.json",
            "certainty": "recalled",
            "weights_gib": 12.5,
            "drafts": ["org/Draft"],
            "hf_quant_config": {"quantization": {"quant_algo": "NVFP4"}},
        }
    },
    "index": {"org/big-model": "org/Big-Model", "big-model": "org/Big-Model"},
}


def write(path: Path, value: object = CONFIG) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return path


def find(ref: object, home: Path, **more: Any) -> ModelConfig | ModelProblem:
    return find_model(str(ref), catalogue=CATALOGUE, hf_home=home / "hf", **more)


def found(ref: object, home: Path, **more: Any) -> ModelConfig:
    result = find(ref, home, **more)
    assert isinstance(result, ModelConfig), result
    return result


def problem(ref: object, home: Path, **more: Any) -> ModelProblem:
    result = find(ref, home, **more)
    assert isinstance(result, ModelProblem), result
    return result


def cache(home: Path, ref: str, commit: str = COMMIT, reference: str | None = "main") -> Path:
    repository = home / "hf" / "hub" / ("models--" + ref.replace("/", "--"))
    if reference:
        write(repository / "refs" / reference, commit)
    return write(repository / "snapshots" / commit / "config.json")


def test_a_config_file(tmp_path: Path) -> None:
    model = found(write(tmp_path / "tiny" / "config.json"), tmp_path)
    assert model.config == CONFIG
    assert model.name == "tiny"
    assert model.origin == f"config.json at {tmp_path / 'tiny' / 'config.json'}"
    assert model.weights_gib is None


def test_a_folder_with_weights_and_modelopt_quantization(tmp_path: Path) -> None:
    write(tmp_path / "m" / "config.json", {**CONFIG, "auto_map": {"AutoConfig": "configuration_x.X"}})
    write(tmp_path / "m" / "hf_quant_config.json", {"quantization": {"quant_algo": "NVFP4"}})
    # `consolidated` is the same again.
    for name in ("model-1-of-2", "model-2-of-2", "consolidated"):
        with (tmp_path / "m" / f"{name}.safetensors").open("wb") as stream:
            stream.truncate(2**29)  # sparse
    model = found(tmp_path / "m", tmp_path)
    assert model.hf_quant_config == {"quantization": {"quant_algo": "NVFP4"}}
    assert model.config["hf_quant_config"] == model.hf_quant_config
    assert model.weights_gib == 1.0


def test_a_broken_quantization_file_is_a_note(tmp_path: Path) -> None:
    write(tmp_path / "m" / "config.json")
    write(tmp_path / "m" / "hf_quant_config.json", "{")
    model = found(tmp_path / "m", tmp_path)
    assert model.hf_quant_config is None
    assert "hf_quant_config.json:1:2: not valid JSON" in model.notes[0]


def test_a_path_wins_over_cache_and_catalogue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    cache(tmp_path, "org/Big-Model")
    assert found("org/Big-Model", tmp_path).origin.startswith("Hugging Face cache")
    write(tmp_path / "org" / "Big-Model" / "config.json")
    assert found("org/Big-Model", tmp_path).origin.startswith("config.json at")


def test_the_catalogue_ignores_case_and_knows_aliases(tmp_path: Path) -> None:
    for ref in ("org/Big-Model", "ORG/big-model", "Big-Model", "big-model/"):
        model = found(ref, tmp_path)
        assert model.name == "org/Big-Model"
        assert model.ref == ref
        assert model.origin == "catalogue rules/models/org.yaml"
        assert (model.certainty, model.source, model.weights_gib) == ("recalled", "config.json", 12.5)
        assert model.drafts == ("org/Draft",)
        assert model.hf_quant_config == {"quantization": {"quant_algo": "NVFP4"}}
    assert "hf_quant_config" not in CONFIG  # the catalogue itself stays as it is


def test_the_cache_follows_refs_and_revisions(tmp_path: Path) -> None:
    file = cache(tmp_path, "org/Cached")
    other = "f" * 40
    cache(tmp_path, "org/Cached", commit=other, reference="v2")
    assert found("org/Cached", tmp_path).origin == f"Hugging Face cache, {file.parent}"
    assert found("org/Cached", tmp_path).name == "org/Cached"
    assert other in found("org/Cached", tmp_path, revision="v2").origin
    assert other in found("org/Cached", tmp_path, revision=other).origin
    assert problem("org/Cached", tmp_path, revision="none").kind == "not-found"


@pytest.mark.parametrize("reference", ["../../../escape", "not a commit", "", "\udcff"])
def test_a_reference_that_is_no_commit_is_not_followed(tmp_path: Path, reference: str) -> None:
    repository = cache(tmp_path, "org/Cached").parents[2]
    (repository / "refs" / "main").write_bytes(reference.encode("utf-8", "surrogateescape"))
    write(tmp_path / "escape" / "config.json")
    assert problem("org/Cached", tmp_path).kind == "not-found"


def test_a_partial_download_falls_through(tmp_path: Path) -> None:
    cache(tmp_path, "org/Big-Model").unlink()
    assert found("org/Big-Model", tmp_path).origin.startswith("catalogue")


def test_a_broken_cached_config_is_told(tmp_path: Path) -> None:
    write(cache(tmp_path, "org/Big-Model"), "[1, 2")
    assert problem("org/Big-Model", tmp_path).kind == "malformed"


@pytest.mark.parametrize("ref", ["org/../Big-Model", "a/b/c", "--flag", "org/", "/", "mödel/x"])
def test_what_is_no_hub_id_is_not_looked_up_in_the_cache(tmp_path: Path, ref: str) -> None:
    assert isinstance(find(ref, tmp_path), ModelProblem)


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"HF_HUB_CACHE": "/c", "HF_HOME": "/h"}, "/c"),
        ({"HUGGINGFACE_HUB_CACHE": "/old"}, "/old"),
        ({"HF_HOME": "/h", "XDG_CACHE_HOME": "/x"}, "/h/hub"),
        ({"XDG_CACHE_HOME": "/x"}, "/x/huggingface/hub"),
        ({"HOME": "/home/me"}, "/home/me/.cache/huggingface/hub"),
    ],
)
def test_where_the_cache_is(environ: dict[str, str], expected: str) -> None:
    assert str(hub_cache(environ)) == expected


@pytest.mark.parametrize(
    ("text", "kind", "said"),
    [
        ("{", "malformed", "config.json:1:2: not valid JSON"),
        ("", "malformed", "not valid JSON"),
        ("[]", "not-an-object", "a list"),
        ("null", "not-an-object", "null"),
        ('{"rope_theta": NaN}', "malformed", "NaN is not a JSON value"),
        ('{"rope_theta": Infinity}', "malformed", "Infinity is not a JSON value"),
        ('{"a": ' + "9" * 5000 + "}", "malformed", "not valid JSON"),
        ('{"a": ' + "[" * 100 + "]" * 100 + "}", "too-deep", "64 levels"),
        ('{"a": ' + "[" * 200_000 + "]" * 200_000 + "}", "too-deep", "too deep"),
        ("{}", "not-a-model-config", "neither `architectures` nor `model_type`"),
        ('{"architectures": "LlamaForCausalLM"}', "not-a-model-config", "a string, not a list"),
        ('{"architectures": [1]}', "not-a-model-config", "not a list of names"),
    ],
)
def test_bad_configs(tmp_path: Path, text: str, kind: str, said: str) -> None:
    if len(text) > 4300 and "9" in text and sys.version_info < (3, 10, 7):
        said = "neither"
        kind = "not-a-model-config"  # no limit on digits there
    result = problem(write(tmp_path / "m" / "config.json", text).parent, tmp_path)
    assert result.kind == kind
    assert said in result.message
    assert result.hint


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    file.write_bytes(b'{"a": "\xff"}')
    assert problem(file, tmp_path).message.endswith("not UTF-8 text (byte 7)")


def test_a_huge_config_is_not_read(tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    with file.open("wb") as stream:
        stream.truncate(50 * 1024 * 1024)
    result = problem(file, tmp_path)
    assert result.kind == "too-large"
    assert "50.0 MB" in result.message


def test_an_endless_device_is_not_read(tmp_path: Path) -> None:
    assert problem("/dev/zero", tmp_path).kind == "not-a-file"
    os.mkfifo(tmp_path / "pipe")
    assert problem(tmp_path / "pipe", tmp_path).kind == "not-a-file"


def test_a_folder_without_config(tmp_path: Path) -> None:
    result = problem(tmp_path, tmp_path)
    assert result.kind == "no-config"
    assert "has no config.json" in result.message
    assert "--model PATH" in result.hint


def test_a_dangling_link_and_an_unreadable_file(tmp_path: Path) -> None:
    (tmp_path / "config.json").symlink_to(tmp_path / "gone")
    assert problem(tmp_path, tmp_path).kind == "unreadable"
    (tmp_path / "config.json").unlink()
    (tmp_path / "config.json").mkdir()
    assert problem(tmp_path, tmp_path).kind == "not-a-file"


def test_a_file_of_another_kind_says_what_to_name(tmp_path: Path) -> None:
    result = problem(write(tmp_path / "model.gguf", "GGUF"), tmp_path)
    assert result.kind == "malformed"
    assert "--model PATH" in result.hint


@pytest.mark.parametrize(
    "ref", ["", "  ", "a\0b", "x" * 5000, "é" * 300, "\x1b[31m", "s3://bucket/m", "https://h/x"]
)
def test_odd_names_are_values_not_crashes(tmp_path: Path, ref: str) -> None:
    result = problem(ref, tmp_path)
    assert len(result.message) < 400
    assert result.message.isprintable()
    assert "--model PATH" in result.hint


def test_did_you_mean(tmp_path: Path) -> None:
    result = problem("org/Big-Modell", tmp_path)
    assert result.suggestions == ("org/Big-Model",)
    assert "did you mean org/Big-Model?" in result.hint
    assert problem("org2/big-model", tmp_path).suggestions == ("org/Big-Model",)
    assert problem("zzz", tmp_path).suggestions == ()


def test_a_path_elsewhere_is_never_guessed(tmp_path: Path) -> None:
    result = problem("/nowhere/models/Big-Model", tmp_path)
    assert "does not exist on this machine" in result.message
    assert result.suggestions == ("org/Big-Model",)
    assert "--model org/Big-Model" in result.hint


@pytest.mark.parametrize(
    "name", ["other/Big-Model-FP8", "other/big-model-nvfp4", "/m/Big-Model-W4A16", "Big-Model-AWQ-INT4"]
)
def test_a_quantized_copy_is_asked_after_not_taken(tmp_path: Path, name: str) -> None:
    assert problem(name, tmp_path).suggestions == ("org/Big-Model",)


@pytest.mark.parametrize(
    "ref", ["models--org--Big-Model", "/elsewhere/hub/models--org--Big-Model/snapshots/0123456789abcdef"]
)
def test_a_folder_of_the_cache_tells_its_repository(tmp_path: Path, ref: str) -> None:
    found = find_model(ref, catalogue=CATALOGUE, hf_home=tmp_path)
    assert isinstance(found, ModelConfig)
    assert found.name == "org/Big-Model"

"""What kind of text a file holds, by its name and else by its first lines."""

from __future__ import annotations

import re
from typing import Final

# Program text and prose: a line of it may be a launch command, and the rest is nothing that a shell reads.
_WITHOUT_SHELL: Final = (
    "txt text log adoc html htm xml csv tsv css js mjs cjs jsx ts tsx go rs c cc cpp h hpp cu cuh java kt"
    " scala rb php lua pl swift cs sql proto patch diff lock ipp r jl hs vue svelte tex po svg cfg properties"
)
_BY_ENDING: Final = {
    **dict.fromkeys(
        ("sh", "bash", "zsh", "ksh", "slurm", "sbatch", "sub", "job", "pbs", "lsf", "env", "envrc"), "shell"
    ),
    **dict.fromkeys(("yaml", "yml"), "yaml"),
    **dict.fromkeys(("json", "jsonc", "jsonl", "json5"), "json"),
    "toml": "toml",
    "py": "python",
    **dict.fromkeys(("md", "markdown", "mdx", "rst"), "markdown"),
    **dict.fromkeys(("dockerfile", "containerfile"), "dockerfile"),
    "ipynb": "notebook",
    **dict.fromkeys(("mk", "mak"), "make"),
    "just": "just",
    **dict.fromkeys(("service", "container", "conf", "ini", "supervisor"), "unit"),
    **dict.fromkeys(("tf", "hcl", "nomad", "nix", "jsonnet", "libsonnet"), "brace"),
    **dict.fromkeys(_WITHOUT_SHELL.split(), "text"),
    **dict.fromkeys(("ps1", "psm1", "bat", "cmd"), "windows"),
    **dict.fromkeys(("groovy", "jenkinsfile"), "groovy"),
}
# Files that go by their whole name.
_BY_NAME: Final = {
    **dict.fromkeys(("makefile", "gnumakefile"), "make"),
    **dict.fromkeys(("justfile", ".justfile"), "just"),
    **dict.fromkeys(("procfile", "procfile.dev"), "procfile"),
    "jenkinsfile": "groovy",
}
# The endings of what a folder is searched for: not prose, and not data that no launcher reads.
SEARCHED: Final = frozenset(
    ending for ending, kind in _BY_ENDING.items() if kind not in ("markdown", "notebook", "text")
) - {"jsonl", "json5", "env", "envrc"}
_DOCKERFILE: Final = re.compile(r"(?:Docker|Container)file(?:[._-].*)?", re.IGNORECASE)
_TEMPLATE: Final = re.compile(r"\.(?:j2|jinja2?|tpl|tmpl|gotmpl|template)$", re.IGNORECASE)
_CONTROL: Final = re.compile(
    r"\{\{-?[ \t]*(?:range|if|else|end|with|define|include|template|block|toYaml|tpl)\b"
    r"|\{\{[` ]*\{\{|\{%-?[ \t]*[a-z]"
)
_PYTHON: Final = re.compile(r"#!.*\bpython")
# How a module begins, its comments aside.
_MODULE: Final = re.compile(
    r"import [\w.]+(?:[ ,].*)?$|from [\w.]+ import |(?:def|class) \w+.*:$|[rR]?(?:\"{3}|'{3})"
)
_IMAGE: Final = re.compile(r"(?:[ \t]*#[^\n]*\n|[ \t]*\n|ARG [^\n]*\n)*FROM[ \t]+\S+", re.IGNORECASE)


def is_searched(name: str) -> bool:
    """Tell whether a folder is searched for files of this name."""
    plain = _TEMPLATE.sub("", name)
    ending = plain.rsplit(".", 1)[-1].lower() if "." in plain else ""
    return ending in SEARCHED or plain.lower() in _BY_NAME or _DOCKERFILE.fullmatch(plain) is not None


def kind_of(name: str, text: str) -> str:
    """Tell what reads a file: shell, yaml, json, toml, python, markdown, dockerfile, make, unit, ..."""
    plain = _TEMPLATE.sub("", name.rsplit("/", 1)[-1])
    if _DOCKERFILE.fullmatch(plain):
        return "dockerfile"
    if plain.lower() in _BY_NAME:
        return _BY_NAME[plain.lower()]
    ending = plain.rsplit(".", 1)[-1].lower() if "." in plain else ""
    if ending in _BY_ENDING:
        return _BY_ENDING[ending]
    head = text.lstrip()[:4000]
    if head.startswith("#!"):
        return "python" if _PYTHON.match(head) else "shell"
    if head.startswith(("{", "[")) and not head.startswith(("[[ ", "[ ", "{ ")):
        return "json" if not re.match(r"\[[\w.\" -]+\]\s*\n", head) else "toml"
    first = next(
        (line for line in head.split("\n") if line.strip() and not line.lstrip().startswith("#")), ""
    )
    if _MODULE.match(first):
        return "python"
    if _IMAGE.match(head):
        return "dockerfile"
    if first.startswith("---") or re.match(r"[A-Za-z_][\w.-]*:(?:[ \t]|$)|- \S", first):
        return "yaml"
    return "shell"


def is_template(text: str) -> bool:
    """Tell whether a text has branches or loops of a template engine: it still has to be rendered."""
    return _CONTROL.search(text) is not None


def may_be_template(name: str, text: str) -> bool:
    """Tell whether a template could be why a text cannot be read."""
    return bool(_TEMPLATE.search(name)) or "{{" in text or "{%" in text

"""An explained rule as text for a terminal and as Markdown; the rule pages are made of the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlacheck.report.layout import wrap, wrap_command

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mlacheck.explain import Explanation


def sections(one: Explanation) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Yield what is known of a rule: heading, kind (text, code, list, command) and content."""
    yield "", "text", (f"{one.level}: {one.bites}.",)
    if one.why:
        yield "Why", "text", (one.why,)
    if one.message:
        yield "mlacheck says", "text", (one.message,)
    if one.engine_says:
        yield "The engine says", "list", one.engine_says
    yield "Versions", "text", (one.versions,)
    if one.condition:
        yield "When", "code", (one.condition,)
    for heading, examples in (("A line that fails", one.bad), ("A line that passes", one.good)):
        for example in examples:
            yield f"{heading} ({example.target})", "command", (example.command,)
    if one.remedies:
        yield "Ways out", "list", one.remedies
    if one.confirm:
        yield "What would confirm it on a GPU", "text", (one.confirm,)
    if one.sources:
        yield "Source, in the engine's package", "list", one.sources
    if one.evidence:
        yield "Evidence", "list", one.evidence
    yield (
        "To accept it",
        "text",
        (f"a comment `# mlacheck: ignore[{one.id}] REASON` above the command or on its first line",),
    )
    yield "Rule", "text", (one.place.partition(":")[0],)


def text_page(one: Explanation, width: int) -> list[str]:
    """Lay an explanation out for a terminal."""
    lines = wrap(f"{one.id} {one.slug}: {one.title}", width, "", "  ")
    for heading, kind, content in sections(one):
        lines.append("")
        if heading:
            lines += wrap(f"{heading}:", width, "  ", "    ")
        indent = "    " if heading else "  "
        for item in content:
            if kind == "command":
                lines += wrap_command(item, width, indent)
            elif kind == "list":
                lines += wrap(item, width, f"{indent}- ", f"{indent}  ")
            else:
                lines += wrap(item, width, indent)
    return lines


def markdown_page(one: Explanation, level: int = 1) -> str:
    """Write an explanation as Markdown; `level` is that of its heading."""
    parts = [f"{'#' * level} {one.id} {one.slug}", f"**{one.title}**"]
    for heading, kind, content in sections(one):
        if kind in {"code", "command"}:
            body = "\n".join(("```sh" if kind == "command" else "```text", *content, "```"))
        elif kind == "list":
            body = "\n".join(f"* {_plain(item)}" for item in content)
        else:
            body = "\n\n".join(map(_plain, content))
        if kind == "text" and heading:
            parts.append(f"{heading}: {body}")
        else:
            parts.append(f"{heading}:\n\n{body}" if heading else body)
    return "\n\n".join(parts) + "\n"


def _plain(text: str) -> str:
    """Keep text from being read as Markdown's or HTML's own."""
    if text.startswith("`"):
        return text
    for sign in ("\\", "*", "_", "<", "[", "|"):
        text = text.replace(sign, f"\\{sign}")
    return text


def rule_pages(every: list[Explanation]) -> dict[str, str]:
    """Give the rule pages, one for each rule file, and their index."""
    files: dict[str, list[Explanation]] = {}
    for one in every:
        name = one.place.partition(":")[0].rpartition("/")[2].removesuffix(".yaml")
        files.setdefault("built-in" if name in {"flags", "built in"} else name, []).append(one)
    pages = {}
    index = [
        "# Rules",
        "Written by `tools/rule_pages.py` from the rule files; `mlacheck explain ID` prints the same.",
    ]
    for name, rules in files.items():
        rules.sort(key=lambda one: one.id)
        pages[f"{name}.md"] = "\n".join([f"# {name}\n", *(markdown_page(one, 2) for one in rules)])
        rows = [
            f"| [{one.id}]({name}.md#{_anchor(one)}) | {one.level} | {_plain(one.title)} |" for one in rules
        ]
        index.append("\n".join([f"## {name}\n", "| rule | level | what |", "|---|---|---|", *rows]))
    pages["README.md"] = "\n\n".join(index) + "\n"
    return pages


def _anchor(one: Explanation) -> str:
    return f"{one.id} {one.slug}".lower().replace(".", "").replace(" ", "-")

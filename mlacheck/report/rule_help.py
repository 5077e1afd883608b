"""The help text of a rule, as Markdown: what, why, when it bites, evidence and how to silence it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from mlacheck.finding import Finding

_BITES: Final = {
    "first-decode": "The engine takes the line, then fails: loading, at graph capture or the first decode.",
    "silent": "The engine starts and says nothing.",
    "input": "This is about the input of mlacheck, not about the engine.",
}


def rule_help(finding: Finding) -> str:
    """Write the help of the rule behind a finding."""
    bites = _BITES.get(finding.phase, f"The engine refuses the line at start-up ({finding.phase}).")
    if finding.level != "error" and finding.phase not in _BITES:
        bites = f"Seen at start-up ({finding.phase}); the engine starts."
    parts = [f"**{finding.title or finding.slug}**", finding.explain, bites]
    if finding.engine_message and finding.phase != "argparse":
        parts.append(f"The engine says: `{finding.engine_message}`")
    if finding.source:
        parts.append(f"Source: `{finding.source}`")
    if finding.evidence:
        parts.append("Evidence: " + ", ".join(finding.evidence))
    if finding.confirm:
        parts.append(f"What would confirm it on a GPU: {finding.confirm}")
    parts.append(
        f"To accept it, put a comment `# mlacheck: ignore[{finding.id}] REASON` above the command or on its "
        "first line, with no other command between."
    )
    return "\n\n".join(part for part in parts if part)

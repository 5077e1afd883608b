"""Findings that no rule file makes: the engine's argument parser, the target, and the input itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from mlacheck.finding import Finding
from mlacheck.frozen import frozen, replace

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mlacheck.finding import Report, Undecided


@frozen
class Builtin:
    """One such finding."""

    id: str
    slug: str
    title: str
    level: str
    phase: str

    def finding(self, message: str, **more: Any) -> Finding:
        """Make it."""
        return Finding(self.id, self.slug, self.level, self.phase, message, title=self.title, **more)


_PARSER: Final = "argparse"
_TARGET: Final = "environment"
# About the input of mlacheck; the engine never sees it.
INPUT: Final = "input"

PARSER: Final[Mapping[str, Builtin]] = {
    slug: Builtin(f"MLA{number:03}", slug, title, "error", _PARSER)
    for number, (slug, title) in enumerate(
        (
            ("unknown-flag", "the engine's argument parser does not know a flag"),
            ("ambiguous-flag", "an abbreviated flag stands for several"),
            ("invalid-choice", "a flag has a value that is not one of its choices"),
            ("invalid-value", "a flag has a value of the wrong kind"),
            ("missing-value", "a flag lacks its value"),
            ("missing-required", "a flag that the engine requires is missing"),
            ("unexpected-argument", "the engine's argument parser refuses the line"),
        ),
        1,
    )
}
# Kinds of refusal that share the id of unexpected-argument.
OTHER_REFUSALS: Final = ("unexpected-value", "retired-flag", "help")
UNREADABLE_LAUNCH: Final = Builtin(
    "MLA090", "unreadable-launch", "text that names an engine cannot be read", "error", INPUT
)
UNREAD_FILE: Final = Builtin("MLA091", "unread-file", "a file cannot be read", "info", INPUT)
UNSUPPORTED_ENGINE: Final = Builtin(
    "MLA092", "engine-not-supported", "a launch line of an engine without rules", "info", INPUT
)
CONFIG_NOT_READ: Final = Builtin(
    "MLA093",
    "config-not-read",
    "the engine accepts --config=FILE and never reads it",
    "warning",
    _PARSER,
)
CONFIG_REFUSED: Final = Builtin(
    "MLA094", "config-refused", "the engine refuses its --config file", "error", _PARSER
)
CARRIAGE_RETURNS: Final = Builtin(
    "MLA095", "carriage-returns", "a shell script with a launch has lines that end in CR LF", "error", INPUT
)
MISSPELT_VARIABLE: Final = Builtin(
    "MLA096",
    "misspelt-variable",
    "the engine reads no environment variable of this name, and one like it",
    "warning",
    "silent",
)
UNREAD_VARIABLE: Final = Builtin(
    "MLA097", "unread-variable", "an environment variable of other engine versions", "info", "silent"
)
BARE_IGNORE: Final = Builtin("MLA511", "bare-ignore", "a suppression names no rule", "warning", INPUT)
NO_REASON: Final = Builtin(
    "MLA512", "ignore-without-reason", "a suppression gives no reason", "warning", INPUT
)
UNKNOWN_IGNORE: Final = Builtin(
    "MLA513", "ignore-of-unknown-rule", "a suppression names a rule that does not exist", "warning", INPUT
)
UNUSED_IGNORE: Final = Builtin("MLA514", "unused-ignore", "a suppression silences nothing", "warning", INPUT)
MODELS_DIFFER: Final = Builtin(
    "MLA515", "model-disagreement", "another model is checked than the line serves", "info", _TARGET
)
NO_GPU: Final = Builtin(
    "MLA516",
    "no-gpu-runs-it",
    "the line fails on every GPU that it may run on, by a rule that depends on which",
    "error",
    _TARGET,
)
UNDECIDED: Final = Builtin(
    "MLA519", "verdict-unknown", "what is known does not decide the verdict", "info", INPUT
)
BAD_EVIDENCE: Final = Builtin(
    "MLA595", "failed-evidence", "a kept decode check found this very kernel wrong", "error", "silent"
)
EVIDENCE: Final = Builtin(
    "MLA596", "decode-evidence", "a kept decode check is about this kernel, GPU and versions", "info", INPUT
)
OTHER_EVIDENCE: Final = Builtin(
    "MLA597", "other-evidence", "a kept decode check is about something else", "info", INPUT
)
DISAGREEMENT: Final = Builtin(
    "MLA598", "target-disagreement", "sources of the target disagree", "info", _TARGET
)
BROKEN: Final = Builtin(
    "MLA599", "broken-install", "the installed FlashInfer is not what its version says", "warning", _TARGET
)
BUILTINS: Final = (
    *PARSER.values(),
    UNREADABLE_LAUNCH,
    UNREAD_FILE,
    UNSUPPORTED_ENGINE,
    CONFIG_NOT_READ,
    CONFIG_REFUSED,
    CARRIAGE_RETURNS,
    MISSPELT_VARIABLE,
    UNREAD_VARIABLE,
    BARE_IGNORE,
    NO_REASON,
    UNKNOWN_IGNORE,
    UNUSED_IGNORE,
    MODELS_DIFFER,
    NO_GPU,
    UNDECIDED,
    BAD_EVIDENCE,
    EVIDENCE,
    OTHER_EVIDENCE,
    DISAGREEMENT,
    BROKEN,
)


def with_undecided(report: Report, undecided: Sequence[Undecided]) -> Report:
    """Leave of a report's undecided rules these; the others are silenced.

    With one of the possible errors gone, that every GPU has one is no longer known.
    """
    lost = any(one.level == "error" and one not in undecided for one in report.undecided)
    findings = tuple(one for one in report.findings if not lost or one.id != NO_GPU.id)
    return replace(report, findings=findings, undecided=tuple(undecided))

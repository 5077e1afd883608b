"""JUnit XML: one suite a file, one case for each command and each finding on it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, TextIO
from xml.etree.ElementTree import Element, ElementTree, SubElement, indent

from mlacheck.finding import BAD_DECODE, LEVELS
from mlacheck.report.place import place, relative, shown, why_unknown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mlacheck.finding import Finding, Report
    from mlacheck.report.writers import Style

# What XML 1.0 cannot carry, not even escaped.
_FORBIDDEN: Final = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_junit(reports: Sequence[Report], stream: TextIO, style: Style) -> None:
    """Write failures for what fails the run, and skips for what is silenced or undecided."""
    root = Element("testsuites", name="mlacheck")
    suites: dict[str, Element] = {}
    for report in reports:
        name = relative(report.file) if report.file else "command line"
        suite = suites.get(name)
        if suite is None:
            suite = suites[name] = SubElement(root, "testsuite", name=_clean(name))
        _cases(suite, report, style)
    for suite in suites.values():
        _count(suite, list(suite))
    _count(root, [case for suite in suites.values() for case in suite])
    indent(root)
    stream.write('<?xml version="1.0" encoding="utf-8"?>\n')
    ElementTree(root).write(stream, encoding="unicode")
    stream.write("\n")


def _cases(suite: Element, report: Report, style: Style) -> None:
    for finding in report.findings:
        case = _case(suite, report, f"{finding.id} {finding.slug}", finding)
        text = _clean(_text(report, finding))
        if finding.suppressed:
            told = f"suppressed by {finding.suppressed_by}: {finding.suppressed_reason or 'no reason given'}"
            SubElement(case, "skipped", message=_clean(told))
        elif LEVELS.index(finding.level) >= LEVELS.index(style.fail_on):
            message = _clean(finding.message)
            SubElement(case, "failure", type=finding.level, message=message).text = text
        else:
            SubElement(case, "system-out").text = text
    for row in report.decode:
        case = _case(suite, report, f"decode {row.get('name')}")
        if row.get("state") in BAD_DECODE:
            SubElement(case, "failure", type=str(row["state"]), message=_clean(str(row.get("detail") or "")))
        elif row.get("state") != "passes":
            SubElement(case, "skipped", message=_clean(f"{row.get('state')}: {row.get('detail') or ''}"))
    if report.verdict == "error":
        return
    # A command that does not fail is a case of its own: one without findings shows as passed.
    case = _case(suite, report, "verdict")
    why = why_unknown(report)
    if why is not None and style.strict:
        SubElement(case, "failure", type="unknown", message=_clean(why))
    elif why is not None:
        SubElement(case, "skipped", message=_clean(why))


def _case(suite: Element, report: Report, name: str, finding: Finding | None = None) -> Element:
    file, line, _ = place(report, finding)
    command = _clean(f"{file}:{report.location.line if report.location else 1}")
    case = SubElement(suite, "testcase", name=_clean(name), classname=command)
    if report.file:
        case.set("file", _clean(file))
        case.set("line", str(line))
    return case


def _text(report: Report, finding: Finding) -> str:
    lines = [f"{shown(place(report, finding))}: {finding.level}[{finding.id}] {finding.message}"]
    lines += [f"because: {because}" for because in finding.because]
    for remedy in finding.remedies:
        lines += [f"fix: {remedy.text}", *([f"  {remedy.command}"] if remedy.command else [])]
    return "\n".join(lines)


def _count(element: Element, cases: list[Element]) -> None:
    element.set("tests", str(len(cases)))
    element.set("failures", str(sum(case.find("failure") is not None for case in cases)))
    element.set("errors", "0")
    element.set("skipped", str(sum(case.find("skipped") is not None for case in cases)))


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("\ufffd", text)

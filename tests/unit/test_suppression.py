from __future__ import annotations

import pytest

from mlacheck.builtin import NO_GPU
from mlacheck.finding import Location, Undecided, judged
from mlacheck.frozen import replace
from mlacheck.suppression import read_ignores, suppress

NAMES = {"toy001": "TOY001", "toy-rule": "TOY001", "toy002": "TOY002", "other-rule": "TOY002"}


@pytest.fixture
def at(made, finding):
    def at(line, *ids, verdict="error", **more):
        return made(
            verdict=verdict,
            file="run.sh",
            location=Location(line, 1),
            findings=tuple(finding(id=id_, slug=id_.lower()) for id_ in ids),
            **more,
        )

    return at


def told(report):
    return [(one.id, one.slug, one.location.line, one.location.column) for one in report.live if one.location]


@pytest.mark.parametrize(
    ("said", "names", "reason"),
    [
        ("ignore[TOY001] known", ("TOY001",), "known"),
        ("ignore[TOY001, other-rule]: two of them", ("TOY001", "other-rule"), "two of them"),
        ("ignore[ TOY001 ,] - waits", ("TOY001",), "waits"),
        ("IGNORE [toy001]  spaced ", ("toy001",), "spaced"),
    ],
)
def test_a_comment_names_rules_and_gives_a_reason(said, names, reason):
    (ignore,) = read_ignores(f"a\n  # mlacheck: {said}\nb")
    assert (ignore.names, ignore.reason, ignore.refused) == (names, reason, None)
    assert ignore.location == Location(2, 3)


@pytest.mark.parametrize(
    ("said", "slug"),
    [
        ("ignore", "bare-ignore"),
        ("ignore because I say so", "bare-ignore"),
        ("ignore[] nothing", "bare-ignore"),
        ("ingore[TOY001] misspelt", "bare-ignore"),
        ("ignore[TOY001]", "ignore-without-reason"),
        ("ignore[TOY001]  :", "ignore-without-reason"),
    ],
)
def test_bare_and_unreasoned_comments_are_refused_and_silence_nothing(at, said, slug):
    (report,) = suppress([at(2, "TOY001")], f"# mlacheck: {said}\nrun", NAMES)
    assert report.verdict == "error"
    assert [one.slug for one in report.live] == ["toy001", slug]
    assert told(report) == [(report.live[1].id, slug, 1, 1)]
    assert "ignore[ID] REASON" in report.live[1].remedies[0].text


def test_a_comment_is_for_the_next_command_only(at):
    text = "\n# mlacheck: ignore[TOY001] known\n\nrun\nrun\n"
    first, second = suppress([at(4, "TOY001", "TOY002"), at(5, "TOY001")], text, NAMES)
    assert [
        (one.id, one.suppressed_by, one.suppressed_reason) for one in first.findings if one.suppressed
    ] == [("TOY001", "comment", "known")]
    assert [one.id for one in first.live] == ["TOY002"]
    assert second.verdict == "error"
    assert [one.id for one in second.live] == ["TOY001"]


def test_a_comment_on_the_commands_own_line_is_for_that_command(at):
    first, second = suppress(
        [at(1, "TOY001"), at(2, "TOY001")], "run  # mlacheck: ignore[toy-rule] known\nrun", NAMES
    )
    assert (first.verdict, second.verdict) == ("ok", "error")


def test_alternatives_of_one_command_share_its_comment(at):
    text = "# mlacheck: ignore[TOY001] known\nrun"
    assert [one.verdict for one in suppress([at(2, "TOY001"), at(2)], text, NAMES)] == ["ok", "ok"]


def test_commands_of_a_script_inside_a_manifest_are_told_apart(at):
    text = "command: [bash, -c]\nargs:\n- |\n  # mlacheck: ignore[TOY001] known\n  run\n  run"
    first, second = suppress([at(1, "TOY001", words_line=5), at(1, "TOY001", words_line=6)], text, NAMES)
    assert (first.verdict, second.verdict) == ("ok", "error")


def test_flags_that_are_defined_above_the_command_do_not_move_it(at):
    text = "ARGS=(--tp 8)\n# mlacheck: ignore[TOY001] known\nrun\n"
    assert suppress([at(3, "TOY001", words_line=1)], text, NAMES)[0].verdict == "ok"


def test_a_whole_file_can_be_silenced(at):
    text = "run\nrun\n# mlacheck: ignore-file[TOY001] known\n"
    assert [one.verdict for one in suppress([at(1, "TOY001"), at(2, "TOY001")], text, NAMES)] == ["ok", "ok"]


@pytest.mark.parametrize(
    ("text", "slug", "fix"),
    [
        ("# mlacheck: ignore[TOY002] x\nrun", "unused-ignore", "take it out"),
        ("run\n# mlacheck: ignore[TOY001] x\n", "unused-ignore", "take it out"),
        ("# mlacheck: ignore[TOY01] x\nrun", "ignore-of-unknown-rule", "did you mean TOY001"),
        ("# mlacheck: ignore[qqqqq] x\nrun", "ignore-of-unknown-rule", "rules list"),
    ],
)
def test_what_silences_nothing_is_told(at, text, slug, fix):
    line = text.count("\n", 0, text.index("mlacheck")) + 1
    (report,) = suppress([at(2 if line == 1 else 1)], text, NAMES)
    assert [(one.slug, one.level, one.location.line) for one in report.live] == [(slug, "warning", line)]
    assert fix in report.live[0].remedies[0].text
    assert report.verdict == "warning"


def test_an_undecided_rule_can_be_silenced_and_the_verdict_follows(at):
    waiting = (Undecided("TOY001", "t", "error", ("gpu.sm",)),)
    report = at(2, verdict="unknown", undecided=waiting)
    (done,) = suppress([report], "# mlacheck: ignore[TOY001] known\nrun", NAMES)
    assert (done.verdict, done.undecided, done.live) == ("ok", (), ())
    (still,) = suppress(
        [at(2, verdict="unknown", undecided=waiting, unsure=True)], "# mlacheck: ignore[TOY001] x\nrun", NAMES
    )
    assert still.verdict == "unknown"


def test_one_of_several_possible_errors_gone_leaves_the_rest_open(at):
    waiting = tuple(Undecided(f"TOY00{n}", "t", "error", ("gpu.sm",)) for n in (1, 2))
    report = replace(at(2, undecided=waiting), findings=(NO_GPU.finding("no GPU runs it"),))
    assert judged(report).verdict == "error"
    (done,) = suppress([report], "# mlacheck: ignore[TOY001] known\nrun", NAMES)
    assert (done.verdict, done.findings) == ("unknown", ())


def test_other_text_is_left_alone(at):
    reports = [at(1, "TOY001")]
    for text in (
        "",
        "run # ignore[TOY001] x",
        "echo 'http://x#mlacheck: ignore[TOY001] x'",
        "# mlacheck is nice",
    ):
        assert suppress(reports, text, NAMES) == reports
    assert suppress([], "# mlacheck: ignore[TOY001] x", NAMES) == []


def test_the_shipped_rules_are_known_by_default(made, finding):
    report = made(
        verdict="error",
        location=Location(2, 1),
        findings=(finding(id="MLA194", slug="trtllm-mla-dcp-speculative"),),
    )
    (done,) = suppress([report], "# mlacheck: ignore[trtllm-mla-dcp-speculative] known\nrun")
    assert done.verdict == "ok"


@pytest.mark.parametrize(
    "between",
    [
        "",
        "\n",
        "# why\n\n",
        "ARGS=(\n  --tp 8\n)\n",
        "export A=1\nB=2 \\\n",
        "if [ $X ]; then\n",
        "command:\n- name: a\n  script: |\n",
        '"args": [\n',
        "ENTRYPOINT []\n",
        "subprocess.run([\n",
    ],
)
def test_what_leads_to_a_command_may_stand_between(at, between):
    text = f"# mlacheck: ignore[TOY001] known\n{between}run\n"
    (report,) = suppress([at(text.count("\n"), "TOY001")], text, NAMES)
    assert report.verdict == "ok"


@pytest.mark.parametrize(
    "between", ["echo a\n", "cd x && ls\n", "- echo a\n", "- run: echo a\n", "\n# b\nls\n"]
)
def test_a_comment_does_not_reach_past_another_command(at, between):
    text = f"# mlacheck: ignore[TOY001] known\n{between}run\n"
    (report,) = suppress([at(text.count("\n"), "TOY001")], text, NAMES)
    assert report.verdict == "error"
    [unused] = [one for one in report.live if one.slug == "unused-ignore"]
    assert "no launch command stands below it" in unused.message


@pytest.mark.parametrize("name", ["MLACHECK", "MLAcheck"])
def test_a_comment_in_capitals_is_told_as_misspelt(at, name):
    text = f"# {name}: ignore[TOY001] known\nrun\n# {name}: a tool\n"
    (report,) = suppress([at(2, "TOY001")], text, NAMES)
    assert report.verdict == "error"
    [said] = [one for one in report.live if one.slug == "bare-ignore"]
    assert f"misspelt, {name} for mlacheck" in said.message

from __future__ import annotations

from markdown_it import MarkdownIt

from mlacheck.report.markdown import MOST_CHARACTERS

READER = MarkdownIt("commonmark", {"html": True}).enable("table")


def plain(token):
    return "".join(child.content for child in token.children or () if child.type in {"text", "code_inline"})


def cells(text):
    tokens = READER.parse(text)
    rows = [[]]
    for at, token in enumerate(tokens):
        if token.type == "tr_open":
            rows.append([])
        if token.type in {"td_open", "th_open"}:
            rows[-1].append(plain(tokens[at + 1]))
    return rows[1:]


def test_the_table_has_a_row_for_every_live_finding_and_open_verdict(several, write):
    head, *rows = cells(write("markdown", *several))
    assert head == ["", "where", "what"]
    assert [len(row) for row in rows] == [3] * 4
    assert [row[0].split()[1] for row in rows] == ["error", "warning", "info", "unknown"]
    assert rows[0][1] == "deploy/run it.sh:5:6"
    assert rows[0][2].startswith(
        "TOY001 a|b `c` <b>&amp; 100% *x* _y_ @\u200bsomeone #1: a,b next [l](http://x)"
    )
    assert "--gpu NAME" in rows[3][2]


def test_nothing_in_a_message_is_read_as_markup(several, write):
    kinds = {
        child.type
        for token in READER.parse(write("markdown", *several))
        for child in (token, *(token.children or ()))
    }
    assert not kinds & {"html_inline", "html_block", "link_open", "em_open", "image"}


def test_commands_stand_in_a_block_that_they_cannot_end(several, write):
    blocks = [token for token in READER.parse(write("markdown", *several)) if token.type == "fence"]
    assert len(blocks) == 1
    assert blocks[0].info == "bash"
    assert blocks[0].content.strip().endswith("```x```")


def test_a_comment_never_grows_beyond_what_github_takes(made, finding, write):
    many = made(findings=tuple(finding(id=f"TOY{n:03}", message="x" * 3000) for n in range(400)))
    text = write("markdown", many)
    assert len(text) < MOST_CHARACTERS + 200
    assert len(cells(text)) > 40
    assert "more parts do not fit" in text
    assert "more parts" not in write("markdown", made(findings=(finding(),)))


def test_nothing_found_is_said_in_a_line(made, write):
    assert write("markdown", made()).strip().splitlines() == [
        "### mlacheck",
        "",
        "checked 1 command: no findings",
    ]

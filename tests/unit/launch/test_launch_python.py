"""Launch commands that Python code puts together, statement by statement."""

from __future__ import annotations

import shlex

import pytest

from mlacheck.launch.command import Document
from mlacheck.launch.file.read import read_document

M = "--model-path a/m"


def read(text, **env):
    return read_document(Document(text, "x.py"), env=env)


def lines(text, **env):
    return sorted(shlex.join(command.argv) for command in read(text, **env).commands)


START = 'cmd = ["sglang", "serve", "a/m"]\n'


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('cmd += ["--tp", "8"]', f"{M} --tp 8"),
        ('cmd.append("--tp=8")', f"{M} --tp=8"),
        ('cmd.extend(["--tp", str(8)])', f"{M} --tp 8"),
        ('cmd.extend(("--tp", "8"))', f"{M} --tp 8"),
        ('cmd.insert(3, "--tp=8")', f"{M} --tp=8"),
        ('cmd = cmd + ["--tp", "8"]', f"{M} --tp 8"),
        ('cmd = [*cmd, "--tp", "8"]', f"{M} --tp 8"),
        ('flags = ["--tp", "8"]\nrun(cmd + flags)', f"{M} --tp 8"),
        ('flags = ["--tp", "8"]\nrun([*cmd, *flags])', f"{M} --tp 8"),
        ('other = cmd\nother += ["--tp", "8"]', f"{M} --tp 8"),
        ('other = list(cmd)\nother.append("--tp=8")', f"{M} --tp=8"),
        ('for flag in ("--tp", "8"):\n    cmd.append(flag)', f"{M} --tp 8"),
        ('for k, v in {"tp": 8, "dp": 2}.items():\n    cmd += [f"--{k}", str(v)]', f"{M} --tp 8 --dp 2"),
        ('cmd += shlex.split("--tp 8")', f"{M} --tp 8"),
        ('cmd += "--tp 8".split()', f"{M} --tp 8"),
        ('cmd += ["--tp", "8"]\nos.system(" ".join(cmd))', f"{M} --tp 8"),
        ('line = " ".join(cmd + ["--tp", "8"])\nos.system(line)', f"{M} --tp 8"),
        ('cmd.append("--tp=8")\nprint(f"starting {cmd}")\nlog.append(cmd)', f"{M} --tp=8"),
        ('if __name__ == "__main__":\n    cmd.append("--tp=8")', f"{M} --tp=8"),
        ('with open("x") as f:\n    cmd.append("--tp=8")', f"{M} --tp=8"),
        ('try:\n    cmd.append("--tp=8")\nexcept OSError:\n    raise', f"{M} --tp=8"),
    ],
)
def test_a_list_is_followed_to_its_end(text, found):
    assert lines(START + text) == [found]


@pytest.mark.parametrize(
    "text",
    [
        'if x:\n    cmd.append("--tp=8")',
        'if not x:\n    pass\nelse:\n    cmd.append("--tp=8")',
        'cmd += ["--tp=8"] if x else []',
        'run(cmd + (["--tp=8"] if x else []))',
        'if x:\n    cmd = cmd + ["--tp=8"]',
        'if x:\n    run(cmd + ["--tp=8"])\nelse:\n    run(cmd)',
    ],
)
def test_a_branch_makes_variants(text):
    commands = read(START + text).commands
    assert sorted(command.argv[2:] for command in commands) == [(), ("--tp=8",)]
    assert {one.partition(": ")[2] for command in commands for one in command.variant} == {"x", "not x"}


@pytest.mark.parametrize(
    "text",
    [
        'if x:\n    cmd.append("--a")\nif not x:\n    cmd.append("--b")',
        'if x:\n    cmd.append("--a")\nelse:\n    cmd.append("--b")',
        'if x == "p":\n    cmd.append("--a")\nif x == "q":\n    cmd.append("--b")',
        'if x or y:\n    pass\nelse:\n    cmd.append("--b")\nif x:\n    cmd.append("--a")',
        'if x and y:\n    cmd.append("--a")\nif not y:\n    cmd.append("--b")',
    ],
)
def test_branches_that_exclude_each_other_are_not_taken_together(text):
    found = lines(START + text)
    assert any("--a" in line for line in found)
    assert any("--b" in line for line in found)
    assert not any("--a" in line and "--b" in line for line in found)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("cmd += flags", "flags"),
        ("cmd.extend(self.flags)", "self.flags"),
        ("cmd = cmd + extra()", "extra()"),
        ("while more():\n    cmd.append(next())", "what the loop of line 2 adds"),
        ("for k in flags:\n    cmd += [k]", "what the loop of line 2 adds"),
        ("cmd.remove(x)", "what cmd.remove leaves"),
        ("cmd[1] = x", "what cmd[1] becomes"),
        ("def more(words):\n    words.append('--tp=8')\nmore(cmd)", "what more adds"),
        ("def more():\n    cmd.append('--tp=8')\nmore()", "what other code adds to cmd"),
    ],
)
def test_what_is_not_known_to_be_added_is_open(text, what):
    [command] = read(START + text).commands
    assert command.words[-1].unknown == (what,)
    assert command.words[-1].splits


@pytest.mark.parametrize(
    "text",
    [
        """
def f():
    cmd = ["sglang", "serve", "a/m"]
    if x:
        cmd.append("--tp=8")
        return cmd
    cmd.append("--dp=2")
    return cmd
""",
        """
class A:
    def f(self):
        self.cmd = ["sglang", "serve", "a/m"]
        if x:
            self.cmd += ["--tp=8"]
        else:
            self.cmd += ["--dp=2"]
""",
        """
BASE = ["sglang", "serve", "a/m"]
def one():
    run(BASE + ["--tp=8"])
def two():
    run([*BASE, "--dp=2"])
""",
        """
cmd = ["sglang", "serve", "a/m", "--tp=8"]
run(cmd)
cmd = ["sglang", "serve", "a/m", "--dp=2"]
run(cmd)
""",
    ],
)
def test_each_launch_is_found_once_and_whole(text):
    assert lines(text) == [f"{M} --dp=2", f"{M} --tp=8"]


@pytest.mark.parametrize(
    "text",
    [
        'os.system("sglang serve a/m " "--tp 8")',
        'os.system(f"sglang serve a/m --tp {8}")',
        'tp = 8\nos.system("sglang serve {} --tp {tp}".format("a/m", tp=tp))',
        'os.system("sglang serve %s --tp %d" % ("a/m", 8))',
        'cmd = "sglang serve a/m"\ncmd += " --tp 8"\nos.system(cmd)',
        'cmd = "sglang serve a/m " + " ".join(["--tp", "8"])\nos.system(cmd)',
        'run("""\nsglang serve a/m \\\\\n  --tp 8\n""", shell=True)',
        'def f():\n    return "sglang serve a/m --tp 8"',
        'Task(run="sglang serve a/m --tp 8")',
        'job = {"command": "sglang serve a/m --tp 8"}',
        'await asyncio.create_subprocess_exec("sglang", "serve", "a/m", "--tp", "8")',
        'os.execlp("sglang", "sglang", "serve", "a/m", "--tp", "8")',
        'run(["bash", "-c", "sglang serve a/m --tp 8"])',
        'run(["env", "A=1", *["sglang", "serve", "a/m", "--tp", "8"]])',
        'run(list(map(str, ["x"])) or ["sglang", "serve", "a/m", "--tp", "8"])',
        'run(["sglang", "serve", "a/m", "--tp", os.environ.get("TP", "8")])',
        'run(["sglang", "serve", "a/m", "--tp", str(int(os.getenv("TP", 8)))])',
    ],
)
def test_strings_and_words_that_are_run(text):
    assert lines(text) == [f"{M} --tp 8"]


def test_the_environment_is_asked_and_set():
    text = (
        'os.environ["SGLANG_X"] = "1"\nenv = os.environ.copy()\nenv["SGLANG_Y"] = y\n'
        'run(["sglang", "serve", os.environ["MODEL"], "--tp", os.getenv("TP", "8")], env={**env, "Z": "2"})\n'
    )
    [command] = read(text).commands
    assert dict(command.env) == {"SGLANG_X": "1", "Z": "2"}
    assert dict(command.unknown_env) == {"SGLANG_Y": ("SGLANG_Y",)}
    assert command.assumed == ("TP=8",)
    assert command.words[1].unknown == ("MODEL",)
    assert lines(text, MODEL="a/m", TP="4") == [f"{M} --tp 4"]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('run(f"sglang serve {m} --bad x")', (1, 24)),
        ('run("sglang serve a/m "\n    "--bad x")', (2, 6)),
        ('run(f"""\nsglang serve {m} \\\\\n  --bad x\n""")', (3, 3)),
        ('run("sglang serve \\"a/m\\" --bad x")', (1, 27)),
        ('cmd = ["sglang", "serve", "a/m"]\nif x:\n    cmd += ["--bad", "x"]', (3, 13)),
        ('flags = "--bad x"\nrun("sglang serve a/m " + flags)', (1, 10)),
    ],
)
def test_a_flag_has_the_place_where_it_is_written(text, place):
    words = [word for command in read(text).commands for word in command.words if word.text == "--bad"]
    assert {(word.line, word.column) for word in words} == {place}


@pytest.mark.parametrize(
    "text",
    [
        'HELP = "sglang serve a/m --tp 8"',
        'print("sglang serve a/m --tp 8")',
        '"""sglang serve a/m --tp 8"""',
        'parser.add_argument("--x", help="sglang serve a/m --tp 8")',
        'ENGINES = ["sglang", "vllm"]',
        'assert "sglang serve a/m --tp 8" in text',
    ],
)
def test_what_only_names_a_command_is_none(text):
    assert lines(text) == []


BROKEN = 'cmd = ["vllm", "serve", "a/m",\n       "--tp", "2"\nrun(cmd)\n'


@pytest.mark.parametrize(
    ("text", "found", "told"),
    [
        ('print "x"\nrun(["sglang", "serve", "a/m"])', [M], [("info", 1)]),
        ('run(["sglang", "serve", "a/m"])\ndef f():\n    x = (1\n    return 2\n', [M], [("info", 3)]),
        (f"{BROKEN}", [], [("error", 1)]),
        (f'def f():\n    run(["sglang", "serve", "a/m"])\n{BROKEN}', [M], [("error", 3)]),
        ('def f(:\n    run(["sglang", "serve", "a/m"])\n', [], [("error", 1)]),
        ('run([\n    "sglang",\n    "serve",\n    "a/m,\n])\nx = 1\n', [], [("error", 4)]),
        ('if x:\nrun(["sglang", "serve", "a/m"])\nrun(["sglang", "serve", "n"])', None, [("error", 2)]),
        ("x = 'serve sglang\n" * 40, [], [("info", 1)]),
    ],
)
def test_code_that_is_no_python_is_told_where_and_the_rest_is_read(text, found, told):
    result = read(text)
    assert [(one.level, one.line) for one in result.problems] == told
    if found is not None:
        assert [shlex.join(one.argv) for one in result.commands] == found


def test_braces_of_python_are_no_template():
    text = 'x = f"{{{a}}}"\ny = {{"a": 1}["a"]: {}}\nrun(["sglang", "serve", "a/m", "--x", "{{ y }}"])\n'
    result = read(text)
    assert result.problems == ()
    assert result.commands[0].words[-1].unknown == ("{{ y }}",)

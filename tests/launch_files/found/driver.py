"""Starts servers.

    python3 -m sglang.launch_server --from-a-docstring
"""
import os
import shlex
import subprocess

HELP = "python3 -m sglang.launch_server --from-help"


def main(model, tp, extra):
    cmd = ["python3", "-m", "sglang.launch_server", "--model-path", model, f"--tp={tp}", *extra]
    subprocess.Popen(cmd)
    print("python3 -m sglang.launch_server --printed")
    os.system(f"sglang serve {model} --tp 8 --chat-template 'a b'")
    line = "sglang serve m " + "--tp 4"
    subprocess.run(shlex.split(line))
    subprocess.check_call([
        "sglang", "serve", "n",
        # a comment
        "--dcp-size", str(tp),
    ])

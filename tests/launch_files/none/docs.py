"""Launch with::

    python3 -m sglang.launch_server --model-path m --tp 8
"""
import argparse
import sglang

parser = argparse.ArgumentParser(usage="python3 -m sglang.launch_server --model-path m")
parser.add_argument("--tp", help="as in python3 -m sglang.launch_server --tp 8")
COMMANDS = ("sglang", "vllm")
MODULES = ["sglang.launch_server", "sglang.bench_serving"]
print("sglang serve m --tp 8")
raise SystemExit("start the server: python3 -m sglang.launch_server --model-path m")

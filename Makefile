# `make demo` runs the main job, `make test` passes the tests; both set up what they need in .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# What the core's coverage is measured with; traced, the other tests would take three times as long.
CORE_TESTS := tests/unit/ruleset tests/unit/engines tests/unit/test_evaluation.py

.PHONY: demo test lint clean

$(VENV)/installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	$(BIN)/python -m compileall -q mlacheck
	touch $@

$(VENV)/tested: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	$(BIN)/python -c 'import torch' 2>/dev/null || $(BIN)/python tools/install_torch.py
	touch $@

demo: $(VENV)/installed
	-$(BIN)/mlacheck validate --gpu b200 --engine-version 0.5.18 --args "python -m sglang.launch_server \
	  --model-path deepseek-ai/DeepSeek-V3 --tp-size 8 --dcp-size 8 --attention-backend trtllm_mla \
	  --speculative-algorithm EAGLE"

test: $(VENV)/tested lint
	$(BIN)/python -m mlacheck rules test
	$(BIN)/python -m mlacheck rules test --engine vllm
	$(BIN)/python tools/rule_pages.py --check
	$(BIN)/python -m pytest --numprocesses auto --dist worksteal --cov=mlacheck --cov-report= $(CORE_TESTS)
	$(BIN)/python tools/check_coverage.py
	$(BIN)/python -m pytest --numprocesses auto --dist worksteal $(CORE_TESTS:%=--ignore=%)

lint: $(VENV)/tested
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

clean:
	rm -rf $(VENV) mlacheck/_compiled

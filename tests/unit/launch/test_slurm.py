"""What a batch script's own directives settle, as the scheduler sets variables for them."""

from __future__ import annotations

import pytest

from mlacheck.launch.file.read import read_bytes


def commands(script, name="job.sbatch", **options):
    return read_bytes(script.encode(), name, **options).commands


def argv(directives, words, **options):
    lines = "".join(f"#SBATCH {one}\n" for one in directives)
    [command] = commands(f"#!/bin/bash\n{lines}srun sglang serve m {words}\n", **options)
    return " ".join(command.argv[2:])


@pytest.mark.parametrize(
    ("directives", "words", "want"),
    [
        (["--nodes=2"], "$SLURM_JOB_NUM_NODES $SLURM_NNODES", "2 2"),
        (["-N2 -n 16"], "$SLURM_NNODES $SLURM_NTASKS $SLURM_NPROCS", "2 16 16"),
        (["-N 2", "--ntasks-per-node 8"], "$SLURM_NTASKS $SLURM_NTASKS_PER_NODE", "16 8"),
        (["-c 12"], "${SLURM_CPUS_PER_TASK}", "12"),
        (["--gpus-per-node=8"], "$SLURM_GPUS_PER_NODE $SLURM_GPUS_ON_NODE", "8 8"),
        # The scheduler hands on the option's text, its type included.
        (["--gpus-per-node=h200:8"], "${SLURM_GPUS_PER_NODE##*:} $SLURM_GPUS_ON_NODE", "8 8"),
        (["--gpus-per-node=h200:8"], "$SLURM_GPUS_PER_NODE", "h200:8"),
        (["--gres=gpu:h200:8"], "$SLURM_GPUS_ON_NODE $((SLURM_GPUS_ON_NODE * 2))", "8 16"),
        (["--gres=gpu:8"], "${SLURM_GPUS_PER_NODE:-4}", "4"),
        (["-N 1", "--gpus=4"], "$SLURM_GPUS $SLURM_GPUS_ON_NODE", "4 4"),
        (["-N 1", "-N 4 # four"], "$SLURM_NNODES", "4"),
        (["-J decode"], "$SLURM_JOB_NAME", "decode"),
    ],
)
def test_directives_settle_their_variables(directives, words, want):
    assert argv(directives, words) == want


@pytest.mark.parametrize(
    ("directives", "name"),
    [
        (["--gres=gpu:8"], "SLURM_GPUS_PER_NODE"),  # set for its own option only
        (["--gpus-per-node=8"], "SLURM_NNODES"),
        (["--nodes=1-4"], "SLURM_NNODES"),
        (["-N 2", "--gpus=16"], "SLURM_GPUS_ON_NODE"),  # may be 12 and 4
        (["--ntasks-per-node=8"], "SLURM_NTASKS"),
    ],
)
def test_what_no_directive_settles_stays_open(directives, name):
    lines = "".join(f"#SBATCH {one}\n" for one in directives)
    [command] = commands(f"{lines}srun sglang serve m --tp ${name}\n")
    assert command.words[-1].unknown == (name,)


def test_what_is_given_counts_more_and_later_lines_are_no_directives():
    script = "#SBATCH -N 2\nSLURM_NNODES=3\n#SBATCH -n 5\nsglang serve m $SLURM_NNODES $SLURM_NTASKS\n"
    [command] = commands(script)
    assert command.words[-2].text == "3"
    assert command.words[-1].unknown == ("SLURM_NTASKS",)


@pytest.mark.parametrize(
    ("step", "open_names"),
    [("srun", ()), ("srun -N1 -n1 -w h0", ("SLURM_NNODES",)), ("srun --overlap", ())],
)
def test_a_step_of_other_size_has_other_variables(step, open_names):
    script = (
        f"#SBATCH -N 2\n{step} bash -c 'sglang serve m --nnodes $SLURM_JOB_NUM_NODES --tp $SLURM_NNODES'\n"
    )
    [command] = commands(script)
    assert command.words[-3].text == "2"
    assert command.words[-1].unknown == open_names


def test_a_job_that_a_script_writes_has_directives_of_its_own():
    script = (
        "N=2\ncat > job.sbatch <<EOF\n#!/bin/bash\n#SBATCH -N $N --gres=gpu:b200:4\n"
        "srun sglang serve m --nnodes \\$SLURM_NNODES\nEOF\nsbatch job.sbatch\nsglang serve n\n"
    )
    inner, outer = commands(script, "submit.sh")
    assert (inner.argv[-1], inner.nodes, inner.gpu, inner.gpu_count) == ("2", 2, "b200", 4)
    assert (outer.nodes, outer.gpu) == (None, None)


def test_the_place_of_a_settled_value_is_the_directive():
    [command] = commands("#SBATCH --nodes=2\nsglang serve m --nnodes $SLURM_NNODES\n")
    word = command.words[-1]
    assert (word.line, word.column, word.editable) == (1, 17, False)


@pytest.mark.parametrize(
    ("line", "gpu", "count"),
    [
        ("srun -N 2 --gres=gpu:h200:8 sglang serve m", "h200", 8),
        ("srun --gpus-per-node 4 bash -c 'sglang serve m'", None, 4),
        ("sbatch --gpus-per-node=b200:2 --wrap='sglang serve m --tp 2'", "b200", 2),
        ("srun --gpus=16 -N 2 sglang serve m", None, None),
        ("bench --gres=gpu:8 sglang serve m", None, None),
    ],
)
def test_options_of_the_line_give_its_gpus(line, gpu, count):
    [command] = commands(f"cd x; {line}\n")
    assert (command.gpu, command.gpu_count) == (gpu, count)


def test_what_the_caller_says_counts_more_than_a_directive():
    assert argv(["-N 2"], "$SLURM_NNODES", env={"SLURM_NNODES": "4"}) == "4"

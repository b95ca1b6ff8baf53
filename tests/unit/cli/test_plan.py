"""`ultracluster plan`: text at two widths, JSON as documented, exit status, no findings lost."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from ultracluster_cli.main import main

ROOT = Path(__file__).parents[3]
REFERENCE = sorted(str(path) for path in ROOT.glob("apps/*/cluster*.yaml"))
CORPUS = ROOT / "tests" / "corpus" / "bad_specs"


def run(*arguments, columns=120):
    return CliRunner(env={"COLUMNS": str(columns)}).invoke(
        main, ["plan", *map(str, arguments)], prog_name="ultracluster"
    )


@pytest.mark.parametrize("columns", [80, 120])
@pytest.mark.parametrize("path", REFERENCE)
def test_the_text_of_a_plan_fits_the_screen(path, columns):
    done = run(path, columns=columns)
    assert done.exit_code == 0, done.output
    lines = [line for line in done.stdout.splitlines() if "https://" not in line]
    assert max(map(len, lines)) <= columns
    assert all(line == line.rstrip() for line in lines)
    for heading in ("Fleet ", "Network", "Quotas to ask for", "Cost per hour"):
        assert any(line.startswith(heading) for line in lines), heading
    assert done.stderr.splitlines()[-1] == f"{path}: no findings"


def test_the_text_says_what_people_ask_for():
    text = run(ROOT / "apps/trn_pretrain/cluster.yaml").stdout
    for part in (
        "Fleet train: 0 to 16 x trn1.32xlarge in us-east-1f",
        "256 x AWS Trainium",
        "100 GB/s per node",
        "1,600 GB/s in all",
        "384 GB/s per accelerator",
        "NeuronLink-v2",
        "L-2C3B7624",
        "2,048 vCPU",
        "https://console.aws.amazon.com/servicequotas/home/services/ec2/quotas/L-2C3B7624?region=us-east-1",
        "2400 MB/s",
        "344.00 USD",
        "On-Demand price of us-east-1 on 2026-07-20",
        "no price on record",
    ):
        assert part in text, part


def test_a_capacity_block_has_no_quota_and_no_hourly_price():
    text = run(ROOT / "apps/p5_pretrain/cluster.yaml").stdout
    assert "Capacity Blocks count against no vCPU quota" in text
    assert "no figure" in text
    assert "paid in advance" in " ".join(text.split())


@pytest.mark.parametrize("path", REFERENCE)
def test_json_is_the_documented_document(path):
    done = run(path, "--format", "json")
    assert done.exit_code == 0
    document = json.loads(done.stdout)
    assert document["format_version"] == 1
    assert document["findings"] == []
    documented = set(re.findall(r"`([a-z_]+)(?:\[\])?`", (ROOT / "docs/reference/plan-document.md").read_text()))
    assert keys(document) <= documented
    assert done.stderr == ""


def keys(value, free=("existing_buckets",)):
    if isinstance(value, list):
        return {key for item in value for key in keys(item)}
    if not isinstance(value, dict):
        return set()
    return set(value) | {key for name, item in value.items() if name not in free for key in keys(item)}


def test_every_documented_key_exists():
    page = (ROOT / "docs/reference/plan-document.md").read_text()
    first_columns = re.findall(r"^\| (`[^|]*) \|", page, re.MULTILINE)
    documented = {key for column in first_columns for key in re.findall(r"`([a-z_]+)", column)}
    found = set()
    for path in REFERENCE:
        found |= keys(json.loads(run(path, "--format", "json").stdout))
    assert documented <= found


def test_the_numbers_of_the_json():
    document = json.loads(run(ROOT / "apps/p5_pretrain/cluster.yaml", "--format", "json").stdout)
    (fleet,) = document["plan"]["fleets"]
    assert (fleet["nodes_max"], fleet["accelerators_max"]) == (16, 128)
    assert (fleet["efa_gbytes_per_s_per_node"], fleet["efa_gbytes_per_s_max"]) == (400, 6400)
    assert fleet["capacity"]["scale_in_at"] == "2030-01-15T10:55:00+00:00"
    assert document["plan"]["lustre"][0]["baseline_mbps"] == 4800


def test_errors_are_told_together_and_fail():
    path = CORPUS / "one_fault_in_every_part.yaml"
    done = run(path)
    assert (done.exit_code, done.stdout) == (1, "")
    lines = done.stderr.splitlines()
    assert len(lines) == 10
    assert lines[-1] == f"{path}: 9 errors"
    assert all(re.match(r"(error|fatal): .*\[UC-[A-Z]+-\d{3}\]$", line) for line in lines[:-1])
    document = json.loads(run(path, "--format", "json").stdout)
    assert document["plan"] is None
    assert len(document["findings"]) == 9


def test_warnings_do_not_fail():
    done = run(CORPUS / "region_misspelt.yaml")
    assert done.exit_code == 0
    assert "Fleet train" in done.stdout
    assert done.stderr.startswith("warning: region: ")
    assert done.stderr.splitlines()[-1].endswith(": 1 warning")


@pytest.mark.parametrize("output", ["text", "json"])
@pytest.mark.parametrize("name", ["no-such-file.yaml", "empty.yaml", "tab_indent.yaml"])
def test_a_file_that_cannot_be_read_is_status_2(name, output):
    done = run(CORPUS / name, "--format", output)
    assert done.exit_code == 2
    assert "UC-SPC-001" in done.output


def test_bad_usage_is_status_2():
    assert run().exit_code == 2
    assert run(CORPUS, "--format", "xml").exit_code == 2


@pytest.mark.parametrize("name", sorted(path.name for path in CORPUS.glob("*.yaml")))
def test_no_bad_file_gives_a_traceback(name):
    done = run(CORPUS / name)
    assert done.exit_code in (0, 1, 2)
    assert done.exception is None or isinstance(done.exception, SystemExit)


@pytest.mark.parametrize("output", ["text", "json"])
def test_the_process_loads_neither_the_cdk_nor_an_sdk(output):
    watch = (
        "import sys, atexit\n"
        "heavy = {'aws_cdk', 'jsii', 'constructs', 'boto3', 'botocore', 'rich'}\n"
        "atexit.register(lambda: print(sorted(heavy & set(sys.modules)), file=sys.stderr))\n"
        "from ultracluster_cli.main import main\n"
        f"main(['plan', 'apps/p5_pretrain/cluster.yaml', '--format', {output!r}])\n"
    )
    environment = {"PYTHONPATH": ":".join(str(ROOT / folder) for folder in ("constructs", "stacks", "apps"))}
    done = subprocess.run(
        [sys.executable, "-c", watch], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    assert done.stderr.splitlines()[-1] == ("['rich']" if output == "text" else "[]")

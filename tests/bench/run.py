"""Measure what the project promises and compare with its limits; exit status 1 when one is broken.

(a) the reference app against a floor that creates the same resources raw, whole processes in alternating order;
(b) construction and synthesis of 1, 10, 40 and 100 fleets, and the size of the largest template at 50, alone and in the
    reference cluster, whose fleets mount Lustre over EFA and a home;
(c) import of the plan package against an empty interpreter, and `ultracluster plan` as a whole process;
(d) `ultracluster check`: a small template, growth, and cfn-lint on the same files (see `checks.py`).

Times depend on the machine: the ratios and the growth are what counts, and what docs/reference/performance.md keeps.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from checks import checks
from measure import alternate, seconds

ROOT = Path(__file__).parents[2]
BENCH = ROOT / "tests/bench"
APP = ROOT / "apps/p5_pretrain/app.py"
CLUSTER = ROOT / "apps/p5_pretrain/cluster.yaml"
RUNS = int(os.environ.get("RUNS", "5"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One measured figure and its limit."""

    name: str
    value: float
    limit: float
    unit: str

    @property
    def holds(self) -> bool:
        """Whether the value is within the limit."""
        return self.value <= self.limit

    def __str__(self) -> str:
        return f"{'ok  ' if self.holds else 'FAIL'} {self.name}: {self.value:g} {self.unit} (limit {self.limit:g})"


def cdk_modules() -> list[str]:
    """The CDK modules that the reference app imports."""
    code = (
        "import runpy, sys\n"
        f"runpy.run_path({str(APP)!r}, run_name='__main__')\n"
        "print(' '.join(sorted(n for n in sys.modules if n.startswith('aws_cdk.aws_') and n.count('.') == 1)))"
    )
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "CDK_OUTDIR": folder}
        out = subprocess.run([sys.executable, "-c", code], env=environment, check=True, capture_output=True, text=True)
    return out.stdout.split()


def reference_app() -> list[Figure]:
    """(a) the whole process of the reference app against the floor."""
    modules = cdk_modules()
    context = json.dumps(json.loads((ROOT / "cdk.json").read_text(encoding="utf-8"))["context"])
    with tempfile.TemporaryDirectory() as templates, tempfile.TemporaryDirectory() as out:
        environment = {**os.environ, "CDK_OUTDIR": templates, "CDK_CONTEXT_JSON": context}
        seconds([sys.executable, str(APP)], environment)
        floor = [sys.executable, str(BENCH / "floor_app.py"), templates, *modules]
        ours, lowest = alternate(
            [sys.executable, str(APP)], floor, runs=RUNS, environment={**environment, "CDK_OUTDIR": out}
        )
    print(f"     reference app {ours:.2f} s, floor {lowest:.2f} s over {len(modules)} CDK modules")
    return [Figure(name="reference app / floor", value=round(ours / lowest, 3), limit=1.25, unit="x")]


def many_fleets() -> list[Figure]:
    """(b) growth with the number of fleets."""
    rows = {}
    for count in (1, 10, 40, 50, 100):
        command = [sys.executable, str(BENCH / "fleets_app.py"), str(count)]
        results = [json.loads(subprocess.run(command, check=True, capture_output=True).stdout) for _ in range(3)]
        rows[count] = {**results[0], "seconds": statistics.median(result["seconds"] for result in results)}
        print(f"     {rows[count]}")
    per_fleet = {count: (rows[count]["seconds"] - rows[1]["seconds"]) / (count - 1) for count in (10, 40, 100)}
    return [
        Figure(name="40 fleets, construct and synth", value=rows[40]["seconds"], limit=4.0, unit="s"),
        Figure(
            name="cost of a fleet at 100 / at 10", value=round(per_fleet[100] / per_fleet[10], 2), limit=1.5, unit="x"
        ),
        Figure(
            name="largest template at 50 fleets",
            value=rows[50]["largest_template_bytes"],
            limit=500_000,
            unit="bytes",
        ),
    ]


def mounted_fleets() -> list[Figure]:
    """(b) the templates of the reference cluster with fifty fleets, whose limits are those of CloudFormation."""
    command = [sys.executable, str(BENCH / "cluster_app.py"), "50"]
    # Standard error has the warnings of the plan.
    out = subprocess.run(command, check=True, capture_output=True).stdout
    sizes = json.loads(out)
    print(f"     {sizes}")
    return [
        Figure(
            name="largest template at 50 fleets with everything mounted",
            value=max(size for size, _ in sizes.values()),
            limit=1_000_000,
            unit="bytes",
        ),
        Figure(
            name="most resources of a template of it",
            value=max(resources for _, resources in sizes.values()),
            limit=500,
            unit="resources",
        ),
    ]


def pure_half() -> list[Figure]:
    """(c) start of the pure half."""
    environment = dict(os.environ)
    plan = [sys.executable, "-c", "import ultracluster.plan"]
    nothing = [sys.executable, "-c", "pass"]
    imported, empty = alternate(plan, nothing, runs=RUNS, environment=environment)
    command = [str(Path(sys.executable).with_name("ultracluster")), "plan", str(CLUSTER)]
    whole = statistics.median(seconds(command, environment) for _ in range(RUNS))
    print(f"     import of the plan {imported:.3f} s, an empty interpreter {empty:.3f} s")
    return [
        Figure(name="import ultracluster.plan", value=round(imported - empty, 3), limit=0.15, unit="s"),
        Figure(name="ultracluster plan", value=round(whole, 3), limit=0.6, unit="s"),
    ]


def main() -> int:
    """Run all and print a line for each limit."""
    start = time.perf_counter()
    checked = [Figure(name=name, value=value, limit=limit, unit=unit) for name, value, limit, unit in checks()]
    figures = [*pure_half(), *many_fleets(), *mounted_fleets(), *reference_app(), *checked]
    for figure in figures:
        print(figure)
    print(f"     measured in {time.perf_counter() - start:.0f} s, medians of {RUNS} runs")
    return 0 if all(figure.holds for figure in figures) else 1


sys.exit(main())

"""Random clusters over the whole catalogue: what the plan accepts always becomes templates that the services accept."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from support.clusters import NOW, new_app
from support.efa_rule import efa_faults
from support.linting import lint_errors
from support.templates import launch_template_data
from ultracluster.facts.instances import InstanceType, catalog, instance_type
from ultracluster.findings import FindingsError
from ultracluster.plan.cluster import plan_cluster
from ultracluster.spec.loader import load_cluster
from ultracluster_stacks.assemble import assemble

pytestmark = pytest.mark.slow
REGION = "us-east-1"
ZONES = ("us-east-1a", "us-east-1b")
TYPES = sorted(catalog())
RESERVATION = "cr-0123456789abcdef0"


def _capacity(facts: InstanceType) -> st.SearchStrategy[dict[str, Any]]:
    options: list[dict[str, Any]] = []
    if "on-demand" in facts.purchase_options:
        options += [{"kind": "on-demand"}, {"kind": "reservation", "reservation_id": RESERVATION}]
    if REGION in facts.capacity_block_regions:
        options.append({"kind": "capacity-block", "reservation_id": RESERVATION, "size": 8})
    if "spot" in facts.purchase_options:
        options.append({"kind": "spot"})
    return st.sampled_from(options or [{"kind": "capacity-block", "reservation_id": RESERVATION}])


@st.composite
def fleets(draw: st.DrawFn, index: int) -> dict[str, Any]:
    """A fleet that is likely to be valid; the plan decides."""
    facts = instance_type(draw(st.sampled_from(TYPES)))
    fleet: dict[str, Any] = {
        "name": f"fleet-{index}",
        "instance_type": facts.name,
        "count": draw(st.integers(1, 8)),
        "availability_zone": draw(st.sampled_from(ZONES)),
        "capacity": draw(_capacity(facts)),
        "metadata_hop_limit": draw(st.integers(1, 3)),
        "root_volume": {"size_gib": draw(st.sampled_from([200, 500, 2000]))},
    }
    if draw(st.booleans()):
        fleet["interface_layout"] = draw(st.sampled_from(["min-ip", "all-efa", "max-bandwidth"]))
    if draw(st.booleans()):
        fleet["efa"] = draw(st.sampled_from([False, True, 1]))
    return fleet


@st.composite
def lustre(draw: st.DrawFn) -> dict[str, Any]:
    """A file system that is likely to be valid."""
    kind = draw(st.sampled_from(["SCRATCH_2", "PERSISTENT_1", "PERSISTENT_2"]))
    tiers = {"SCRATCH_2": [None], "PERSISTENT_1": [50, 100, 200], "PERSISTENT_2": [125, 250, 500, 1000]}
    tier = draw(st.sampled_from(tiers[kind]))
    made = {
        "name": "data",
        "deployment_type": kind,
        "capacity_gib": draw(st.sampled_from([1200, 2400, 4800, 9600, 19200, 38400])),
        "availability_zone": draw(st.sampled_from(ZONES)),
        "efa": draw(st.booleans()),
        "mount_path": "/fsx",
    }
    if tier is not None:
        made["throughput_mbps_per_tib"] = tier
    links = draw(st.integers(0, 3))
    made["data_repositories"] = [{"file_system_path": f"/link{at}", "bucket": f"bucket-{at}"} for at in range(links)]
    return made


@st.composite
def clusters(draw: st.DrawFn) -> dict[str, Any]:
    """A cluster file over one or two zones."""
    return {
        "name": "random",
        "region": REGION,
        "network": {"availability_zones": list(ZONES), "nat_gateways": draw(st.integers(0, 2))},
        "fleets": [draw(fleets(index)) for index in range(draw(st.integers(1, 3)))],
        "storage": {
            "lustre": draw(st.lists(lustre(), max_size=1)),
            "buckets": [{"name": f"bucket-{at}", "purpose": "data"} for at in range(3)],
        },
    }


# No shrinking and no tracing of lines: an example costs seconds, and the failing cluster is small enough to read.
@settings(
    max_examples=10, suppress_health_check=list(HealthCheck), phases=[Phase.explicit, Phase.reuse, Phase.generate]
)
@given(clusters())
def test_what_the_plan_accepts_the_services_accept(cluster: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "cluster.yaml")
        path.write_text(yaml.safe_dump(cluster), encoding="utf-8")
        try:
            plan = plan_cluster(load_cluster(path), base_dir=path.parent, now=NOW)
        except FindingsError:
            return  # refused with findings: nothing to synthesize
        app = new_app(folder)
        assemble(app, path, now=NOW)
        app.synth()
        templates = {
            stack: json.loads(Path(folder, f"random-{stack}.template.json").read_text(encoding="utf-8"))
            for stack in ("storage", "compute")
        }
    data = launch_template_data(templates["compute"])
    for plan_of_fleet, launch_template in zip(plan.fleets, data, strict=True):
        facts = plan_of_fleet.instance_types[0]
        assert efa_faults(facts, launch_template, efa=plan_of_fleet.efa_count) == []
    errors = [error for template in templates.values() for error in lint_errors(template, REGION)]
    # E3628 is no schema but a list of the types of a Region, which lags behind what is sold.
    assert [error for error in errors if not error.startswith("E3628 ")] == []

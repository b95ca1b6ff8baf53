"""What the node has against the catalogue, run with pretended devices."""

from __future__ import annotations

import pytest

from support.bootstrap import files_of

ALL_EFA = [f"rdmap{n}s0" for n in range(32)]


def gpus(count):
    return f'[[ $1 != -L ]] || for ((i = 0; i < {count}; i++)); do echo "GPU $i: NVIDIA H100 (UUID: GPU-$i)"; done'


def p5(node, *, gpu_count=8, efa=32):
    node.install(files_of("p5.48xlarge"))
    node.imds(instance_type="p5.48xlarge")
    node.behaviour["nvidia-smi"] = gpus(gpu_count)
    node.efa(*ALL_EFA[:efa])
    return node


def test_a_whole_node_passes(node):
    done = p5(node).program("check_devices")
    assert done.returncode == 0, done.stdout
    assert "p5.48xlarge: 8 accelerators, 32 EFA devices" in done.stdout


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"gpu_count": 7}, "7 of 8 accelerators"),
        ({"efa": 31}, "31 of 32 EFA devices"),
        ({"efa": 0}, "0 of 32 EFA devices"),
    ],
)
def test_a_node_with_fewer_fails_after_three_looks(node, changes, said):
    done = p5(node, **changes).run(
        'bash -c \'set -- true; . "$ROOT/opt/ultracluster/node.sh"; trap "echo why: \\$WHY" EXIT; check_devices\''
    )
    assert done.returncode == 1
    assert f"why: p5.48xlarge shows {said}" in done.stdout
    assert node.called("sleep") == ["sleep 5", "sleep 5"]


def test_a_device_that_comes_late_is_waited_for(node):
    p5(node)
    node.behaviour["nvidia-smi"] = (
        'echo x >>"$STATE/looks"; for ((i = 0; i < $(wc -l <"$STATE/looks") * 4; i++)); do echo "GPU $i: x"; done'
    )
    assert node.program("check_devices").returncode == 0
    assert node.called("sleep") == ["sleep 5"]


def test_other_rdma_devices_are_not_counted(node):
    p5(node, efa=30)
    node.efa("ibp1s0", "ibp2s0", driver="mlx5_core")
    assert node.program("check_devices").returncode == 1


def test_libfabric_is_asked_where_it_is_installed_and_each_domain_counts_once(node):
    p5(node, efa=0)
    lines = "".join(f"provider: efa\n    domain: {name}-rdm\n    domain: {name}-dgrm\n" for name in ALL_EFA)
    node.write("/opt/amazon/efa/bin/fi_info", f"#!/bin/bash\ncat <<'END'\n{lines}{lines}END\n", mode=0o755)
    assert node.program("check_devices").returncode == 0
    half = "".join(f"    domain: {name}-rdm\n" for name in ALL_EFA[:16])
    node.write("/opt/amazon/efa/bin/fi_info", f"#!/bin/bash\ncat <<'END'\n{half}{half}END\n", mode=0o755)
    assert node.program("check_devices").returncode == 1


def test_an_image_without_a_driver_fails(node):
    p5(node)
    del node.behaviour["nvidia-smi"]
    done = node.run('rm -f "$ROOT/stubs/nvidia-smi"; bash "$ROOT/opt/ultracluster/node.sh" check_devices')
    assert done.returncode == 1
    assert not node.called("nvidia-smi")


def test_a_driver_that_answers_nothing_counts_as_no_gpu(node):
    p5(node)
    node.behaviour["nvidia-smi"] = "exit 9"
    assert node.program("check_devices").returncode == 1


def test_neuron_devices_are_counted_by_their_nodes(node):
    node.install(files_of("trn1.32xlarge"))
    node.imds(instance_type="trn1.32xlarge")
    node.efa(*ALL_EFA[:8])
    for n in range(16):
        node.write(f"/dev/neuron{n}")
    node.write("/dev/neuron-other")
    assert node.program("check_devices").returncode == 0
    (node.root / "dev/neuron15").unlink()
    assert node.program("check_devices").returncode == 1


def test_a_type_of_a_mixed_fleet_is_judged_by_its_own_numbers(node):
    node.install(files_of("p5.48xlarge", "p5en.48xlarge"))
    node.behaviour["nvidia-smi"] = gpus(8)
    node.efa(*ALL_EFA[:16])
    node.imds(instance_type="p5en.48xlarge")
    assert node.program("check_devices").returncode == 0
    node.imds(instance_type="p5.48xlarge")
    assert node.program("check_devices").returncode == 1
    node.imds(instance_type="g5.48xlarge")
    assert node.program("check_devices").returncode == 1

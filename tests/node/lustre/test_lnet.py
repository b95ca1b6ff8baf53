"""LNet over EFA: which devices, in which order, when not; and what its counters prove."""

from __future__ import annotations

import argparse
import itertools
import json
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.lustre import LUSTRE, LUSTRE_EFA, LustreHost
from ultracluster.node import lustre
from ultracluster.node.host import NodeError, ToolMissing
from ultracluster.node.lustre import lnet

NET_SHOW = """\
net:
    - net type: lo
      local NI(s):
        - nid: 0@lo
          status: up
          statistics:
              send_count: 4
              recv_count: 4
              drop_count: 0
          tunables:
              peer_timeout: 0
              peer_credits: 0
          lnd tunables:
          dev cpt: 0
          CPT: "[0,1]"
    - net type: tcp
      local NI(s):
        - nid: 10.0.0.9@tcp
          status: up
          interfaces:
              0: ens32
          statistics:
              send_count: 1200
              recv_count: 1500
              drop_count: 3
          sent_stats:
              put: 1190
              get: 10
          tunables:
              peer_timeout: 180
              peer_credits: 8
    - net type: efa
      local NI(s):
        - nid: 10.0.1.9@efa
          status: up
          interfaces:
              0: rdmap79s0
          statistics:
              send_count: 900
              recv_count: 800
              drop_count: 0
        - nid: 10.0.2.9@efa
          status: down
          interfaces:
              0: rdmap80s0
          statistics:
              send_count: 0
              recv_count: 0
              drop_count: 0
          health stats:
              health value: 640
              interrupts: 2
"""


def test_net_show():
    found = lnet.interfaces(NET_SHOW)
    assert [(entry.net, entry.nid, entry.status, entry.devices, entry.sent, entry.received) for entry in found] == [
        ("lo", "0@lo", "up", (), 4, 4),
        ("tcp", "10.0.0.9@tcp", "up", ("ens32",), 1200, 1500),
        ("efa", "10.0.1.9@efa", "up", ("rdmap79s0",), 900, 800),
        ("efa", "10.0.2.9@efa", "down", ("rdmap80s0",), 0, 0),
    ]


_ENTRY = st.builds(
    lnet.Interface,
    net=st.sampled_from(["tcp", "efa", "o2ib", "tcp1"]),
    nid=st.from_regex(r"10\.[0-9]{1,3}\.0\.9@[a-z0-9]{3}", fullmatch=True),
    status=st.sampled_from(["up", "down"]),
    devices=st.lists(st.from_regex(r"[a-z]{2,5}[0-9]{1,2}", fullmatch=True), max_size=2).map(tuple),
    sent=st.integers(0, 2**40),
    received=st.integers(0, 2**40),
)


@given(entries=st.lists(_ENTRY, max_size=6), statistics=st.booleans())
def test_any_networks(entries, statistics):
    lines = ["net:"]
    for entry in entries:
        lines += [f"    - net type: {entry.net}", "      local NI(s):", f"        - nid: {entry.nid}"]
        lines += [f"          status: {entry.status}", "          interfaces:"]
        lines += [f"              {index}: {device}" for index, device in enumerate(entry.devices)]
        if statistics:
            lines += ["          statistics:", f"              send_count: {entry.sent}"]
            lines += [f"              recv_count: {entry.received}", "              drop_count: 9"]
        lines += ["          tunables:", "              peer_credits: 32", "              send_count: 5"]
    found = lnet.interfaces("\n".join(lines))
    if not statistics:
        entries = [lnet.Interface(entry.net, entry.nid, entry.status, entry.devices, 0, 0) for entry in entries]
    assert found == entries


@pytest.mark.parametrize(
    "text", ["", "show:\n    - net:\n          errno: -100\n          descr: cannot get networks\n"]
)
def test_no_networks(text):
    assert lnet.interfaces(text) == []


@given(count=st.integers(1, 64), number=st.integers(0, 80))
def test_devices_are_spread_evenly(count, number):
    devices = [f"rdmap{index}" for index in range(count)]
    chosen = lnet.spread(devices, number)
    assert len(chosen) == (min(number, count) or count)
    places = [devices.index(device) for device in chosen]
    gaps = {after - before for before, after in itertools.pairwise(places)}
    assert places[0] == 0
    assert max(gaps, default=1) - min(gaps, default=1) <= 1
    assert count - places[-1] >= min(gaps, default=1)


@pytest.mark.parametrize(
    ("name", "present", "used"), [("p5.48xlarge", 32, 8), ("p5en.48xlarge", 16, 8), ("p6-b300.48xlarge", 16, 16)]
)
def test_so_many_devices_as_the_type_uses(machine, name, present, used):
    machine.metadata["instance-type"] = name
    host = LustreHost(machine, LUSTRE_EFA)
    devices = [f"rdmap{n:02}s0" for n in range(present)]
    host.efa(*devices)
    host.efa("ibp9s0", driver="mlx5_core")
    lustre.configure_efa(machine.node())
    added = machine.called("lnetctl net add --net efa")
    assert [call.split()[6] for call in added] == devices[:: present // used]
    assert all(call.endswith("--peer-credits 32") for call in added)
    assert machine.called("modprobe kefalnd") == ["modprobe kefalnd ipif_name=ens32"]
    order = ["modprobe lnet", "modprobe kefalnd ipif_name=ens32", "modprobe ksocklnd", "lnetctl lnet configure"]
    order += ["lnetctl net del --net tcp", "lnetctl net add --net tcp --if ens32", added[0], "lnetctl set discovery 1"]
    places = [machine.calls.index(call) for call in [*order, "lnetctl udsp add --src efa --priority 0"]]
    assert places == sorted(places)


def test_it_is_left_alone_when_it_stands(machine):
    host = LustreHost(machine, LUSTRE_EFA)
    host.efa("rdmap00s0")
    lustre.configure_efa(machine.node())
    before = len(machine.calls)
    lustre.configure_efa(machine.node())
    assert machine.calls[before:] == ["lnetctl net show --net efa"]


def test_file_systems_over_tcp_need_none_of_it(machine):
    LustreHost(machine, LUSTRE)
    lustre.configure_efa(machine.node())
    assert not machine.calls


def test_an_image_without_the_efa_driver_of_lustre_says_so(machine):
    host = LustreHost(machine, LUSTRE_EFA)
    host.efa("rdmap00s0")
    machine.command("modprobe", "[[ $1 != kefalnd ]] || { echo 'FATAL: Module kefalnd not found' >&2; exit 1; }")
    with pytest.raises(NodeError, match=r"^the Lustre client of this image has no EFA driver \(kefalnd\): .*not found"):
        lustre.configure_efa(machine.node())


def test_a_type_that_can_be_no_efa_client_is_named(machine):
    machine.metadata["instance-type"] = "p4d.24xlarge"
    LustreHost(machine, LUSTRE_EFA)
    with pytest.raises(NodeError, match=r"^p4d\.24xlarge cannot be an EFA client of Lustre"):
        lustre.configure_efa(machine.node())


def test_a_node_without_efa_devices_is_named(machine):
    LustreHost(machine, LUSTRE_EFA)
    with pytest.raises(NodeError, match=r"^p5\.48xlarge shows no EFA device"):
        lustre.configure_efa(machine.node())


def test_a_node_without_a_route_is_named(machine):
    LustreHost(machine, LUSTRE_EFA).efa("rdmap00s0")
    machine.command("ip", "")
    with pytest.raises(NodeError, match=r"^there is no route to 169\.254\.169\.254"):
        lustre.configure_efa(machine.node())


class TestVerify:
    NETS = (
        {"net": "tcp", "nid": "10.0.0.9@tcp", "device": "ens32", "sent": 5, "received": 5},
        {"net": "efa", "nid": "10.0.1.9@efa", "device": "rdmap1", "sent": 5, "received": 5},
        {"net": "efa", "nid": "10.0.2.9@efa", "device": "rdmap2", "sent": 5, "received": 5},
    )

    @pytest.fixture
    def host(self, machine):
        (machine.root / "fsx").mkdir()
        return LustreHost(machine, LUSTRE_EFA)

    def proved(self, host, growth, *, mounts=(LUSTRE_EFA,)):
        host.lnet(growth, *self.NETS)
        host.machine.settings["mounts"] = list(mounts)
        return lnet.verify(host.machine.node(), "/fsx")

    def test_counters_that_move_are_the_proof(self, host):
        assert self.proved(host, {"efa": [30, 28], "tcp": [2, 2]}) == {"sent": 60, "received": 56, "interfaces": 2}
        assert list((host.machine.root / "fsx").iterdir()) == []

    @pytest.mark.parametrize(
        "growth",
        [
            {"efa": [0, 0], "tcp": [40, 40]},
            {"efa": [3, 0], "tcp": [0, 0]},  # sent, but never answered
            {"efa": [0, 3], "tcp": [0, 0]},
            {"efa": [0, 0], "tcp": [0, 0]},  # nothing moved at all: no proof
            {"efa": [1, 1], "tcp": [40, 40]},  # a ping over EFA, the data over TCP
        ],
    )
    def test_a_fallback_to_tcp_is_a_failure(self, host, growth):
        with pytest.raises(NodeError, match=r"^/fsx is not reached over EFA .*security group, in one zone$"):
            self.proved(host, growth)

    def test_traffic_of_a_file_system_over_tcp_is_no_fault(self, host):
        other = LUSTRE | {"path": "/old"}
        assert self.proved(host, {"efa": [10, 10], "tcp": [90, 90]}, mounts=(LUSTRE_EFA, other))["sent"] == 20

    def test_a_file_that_is_there_is_read_and_none_that_would_have_to_come_from_s3(self, host, monkeypatch):
        folder = host.machine.root / "fsx"
        (folder / "a-released").write_bytes(b"")
        os.truncate(folder / "a-released", 1 << 30)  # a size without blocks, as released files have
        (folder / "data").mkdir()
        (folder / "data/shard-0").write_bytes(bytes(10_000))
        seen = []
        monkeypatch.setattr(lnet, "_read", seen.append)
        before = sorted(path.name for path in folder.rglob("*"))
        self.proved(host, {"efa": [10, 10]})
        assert [path.name for path in seen] == ["shard-0"]
        assert sorted(path.name for path in folder.rglob("*")) == before

    def test_every_server_is_asked_also_where_no_file_is(self, host):
        self.proved(host, {"efa": [10, 10]})
        assert host.machine.called("lfs") == ["lfs df /fsx"]

    def test_without_a_client_it_cannot_be_told(self, host):
        (host.machine.root / "stubs/lnetctl").unlink()
        with pytest.raises(ToolMissing):
            lnet.verify(host.machine.node(), "/fsx")

    def test_an_lnet_without_efa_is_a_failure(self, host):
        host.lnet({"tcp": [10, 10]}, self.NETS[0])
        with pytest.raises(NodeError, match="not reached over EFA"):
            lnet.verify(host.machine.node(), "/fsx")

    def test_the_program_prints_what_moved(self, host, capsys):
        host.lnet({"efa": [10, 10]}, *self.NETS)
        assert lustre.run(argparse.Namespace(command="verify", path=None), host.machine.node()) == 0
        assert json.loads(capsys.readouterr().out) == {"/fsx": {"sent": 20, "received": 20, "interfaces": 2}}

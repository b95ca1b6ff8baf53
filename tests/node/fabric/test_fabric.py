"""EFA of a pretended P5 against the catalogue: devices, cards, versions, variables."""

from __future__ import annotations

import argparse
import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support import efa
from ultracluster.node import fabric
from ultracluster.node.fabric.devices import mac_of_gid, parse_domains
from ultracluster.node.fabric.software import least_versions, older, too_old
from ultracluster.node.fabric.variables import in_text
from ultracluster.node.host import NodeError
from ultracluster.node.results import UnreadableError
from ultracluster.plan.node_facts import node_facts
from ultracluster.plan.node_variables import assignments


@pytest.fixture
def p5(machine):
    return efa.healthy(machine)


def check(machine, name):
    return next(result for result in fabric.check(machine.node()) if result.check == name)


class TestDevices:
    def test_a_whole_node(self, p5):
        result = check(p5, "efa")
        assert (result.status, result.action, result.message) == ("pass", "none", "32 of 32 EFA devices")
        assert p5.slept == []

    def test_the_card_without_a_device_is_named(self, p5):
        efa.libfabric(p5, [card for card in efa.P5_CARDS if card != 17])
        result = check(p5, "efa")
        assert (result.status, result.action) == ("fail", "reboot")
        assert result.message == "p5.48xlarge shows 31 of 32 EFA devices; no device on network card 17"
        assert p5.slept == [5, 5]

    @pytest.mark.parametrize("unknown", ["no metadata", "a GID of another form", "another layout"])
    def test_where_the_card_cannot_be_known_that_is_said(self, p5, unknown):
        efa.libfabric(p5, efa.P5_CARDS[:30])
        if unknown == "no metadata":
            p5.metadata["network/interfaces/macs/"] = ""
        elif unknown == "another layout":
            p5.settings["types"]["p5.48xlarge"]["efa"] = 31
            efa.libfabric(p5, efa.P5_CARDS[:30])
        else:
            p5.write(f"/sys/class/infiniband/{efa.name(3)}/ports/1/gids/0", "0000:0000:0000:0000:0000:ffff:0a00:0001\n")
        message = check(p5, "efa").message
        cards = "one of the cards" if unknown == "another layout" else "each of 2 cards"
        assert message.endswith(f"; {cards} has none, and it cannot be told which")

    def test_no_device_at_all(self, p5):
        efa.libfabric(p5, [])
        assert "shows 0 of 32 EFA devices; no card has one: the launch template" in check(p5, "efa").message

    def test_a_device_that_comes_late_is_waited_for(self, p5):
        everything = efa.fi_info(map(efa.name, efa.P5_CARDS))
        half = efa.fi_info(map(efa.name, efa.P5_CARDS[:16]))
        p5.command(
            "fi_info",
            f"echo x >>$STATE/looks\nif [[ $(grep -c x $STATE/looks) == 1 ]]; then cat <<'END'\n{half}END\n"
            f"else cat <<'END'\n{everything}END\nfi",
        )
        assert check(p5, "efa").status == "pass"
        assert p5.slept == [5]

    def test_without_libfabric_the_kernel_is_asked_and_that_is_said(self, p5):
        (p5.root / "stubs/fi_info").unlink()
        efa.install(p5, (40, 41), driver="mlx5_core", prefix="ibp")
        result = check(p5, "efa")
        assert result.status == "pass"
        assert result.message == "32 of 32 EFA devices; counted in sysfs, because fi_info is not on this node"
        software = check(p5, "fabric_software")
        assert (software.status, software.action) == ("fail", "monitor")
        assert "libfabric is not found and has to be 1.18.0 or later" in software.message

    @pytest.mark.parametrize(
        "body", ["echo 'fi_getinfo: -38 (Function not implemented)' >&2; exit 38", "printf 'provider: efa\\n  dom'"]
    )
    def test_libfabric_that_does_not_tell_is_unknown(self, p5, body):
        p5.command("fi_info", body)
        assert check(p5, "efa").status == "unknown"

    def test_a_type_of_a_mixed_fleet_is_judged_by_its_own_number(self, p5):
        p5.settings["types"] = {"p5.48xlarge": {"efa": 32}, "p5en.48xlarge": {"efa": 16}}
        efa.libfabric(p5, efa.P5_CARDS[:16])
        assert check(p5, "efa").status == "fail"
        p5.metadata["instance-type"] = "p5en.48xlarge"
        assert check(p5, "efa").status == "pass"
        p5.metadata["instance-type"] = "g5.48xlarge"
        with pytest.raises(NodeError, match="none of the types of this fleet"):
            fabric.check(p5.node())

    def test_a_type_without_efa_has_nothing_to_check(self, p5):
        p5.settings["types"] = {"p5.48xlarge": {"efa": 0}}
        (result,) = fabric.check(p5.node())
        assert (result.status, result.message) == ("skipped", "p5.48xlarge has no EFA in this fleet")


class TestParsers:
    def test_other_domains_and_providers_do_not_count(self):
        text = efa.fi_info(["rdmap16s27"]) + (
            "provider: efa\n    fabric: efa\n    domain: rdmap16s27-dgrm\n    version: 201.0\n"
            "    type: FI_EP_DGRAM\n    protocol: FI_PROTO_EFA\n"
            "provider: tcp\n    fabric: 10.0.0.0/16\n    domain: eth0\n    version: 201.0\n"
            "    type: FI_EP_RDM\n    protocol: FI_PROTO_XNET\n"
        )
        assert parse_domains(text) == ("rdmap16s27",)

    @given(st.integers(0, 2000))
    def test_output_that_is_cut_off_is_less_or_unreadable_never_more(self, cut):
        text = efa.fi_info(["rdmap16s27", "rdmap32s27"])
        try:
            found = parse_domains(text[:cut])
        except UnreadableError:
            assert cut < len(text)
        else:
            assert set(found) <= {"rdmap16s27", "rdmap32s27"}

    @given(st.text(max_size=200))
    def test_any_text_is_read_or_refused(self, text):
        with contextlib.suppress(UnreadableError):
            parse_domains(text)
        assert mac_of_gid(text) is None or ":" in text

    @given(st.integers(0, 2**48 - 1))
    def test_an_address_is_found_again_in_the_gid_made_of_it(self, address):
        octets = address.to_bytes(6, "big")
        interface = bytes([octets[0] ^ 2, *octets[1:3], 0xFF, 0xFE, *octets[3:]]).hex()
        gid = "fe80:0000:0000:0000:" + ":".join(interface[i : i + 4] for i in range(0, 16, 4))
        assert mac_of_gid(gid) == octets.hex(":")


class TestSoftware:
    def test_versions_are_found(self, p5):
        result = check(p5, "fabric_software")
        assert result.status == "pass"
        assert result.value == {
            "libfabric": "2.1.0",
            "efa_installer": "1.43.2",
            "kernel": "6.8.0",
            "driver": "570.172.08",
            "plugin": "1.16.3",
        }

    @pytest.mark.parametrize(
        "folder",
        ["/opt/amazon/ofi-nccl/lib", "/opt/aws-ofi-nccl/install/lib", "/opt/amazon/ofi-nccl/lib/aarch64-linux-gnu"],
    )
    def test_the_plugin_is_found_wherever_releases_put_it(self, machine, folder):
        efa.healthy(machine)
        for link in (machine.root / "opt/amazon/ofi-nccl").rglob("*.so"):
            link.unlink()
        efa.plugin(machine, "1.7.2-aws", folder)
        result = check(machine, "fabric_software")
        assert result.message == "aws-ofi-nccl is 1.7.2 and has to be 1.7.3 or later"
        assert (result.status, result.action) == ("fail", "monitor")

    def test_a_second_plugin_is_told(self, p5):
        efa.plugin(p5, "1.9.0", "/usr/local/nccl/lib")
        p5.write("/etc/ld.so.conf.d/nccl.conf", "/usr/local/nccl/lib\n")
        assert "aws-ofi-nccl is here more than once" in check(p5, "fabric_software").message

    def test_neuron_nodes_need_no_nccl_plugin(self, machine):
        efa.healthy(machine)
        machine.metadata["instance-type"] = "trn2.48xlarge"
        machine.settings["types"] = {"trn2.48xlarge": {"efa": 16}}
        result = check(machine, "fabric_software")
        assert result.status == "pass"
        assert "plugin" not in result.value

    def test_least_versions_by_family(self):
        rows = node_facts()["fabric"]["software"]
        assert least_versions(rows, "p5en") == {"libfabric": "1.18.0", "plugin": "1.7.0"}
        assert least_versions(rows, "p6-b200")["plugin"] == "1.15.0"
        old = {
            "libfabric": "2.1.0",
            "plugin": "1.14.9",
            "efa_installer": "1.41.0",
            "driver": "565.9",
            "kernel": "6.1.141",
        }
        assert too_old(old, least_versions(rows, "p6-b200")) == [
            "aws-ofi-nccl is 1.14.9 and has to be 1.15.0 or later",
            "the NVIDIA driver is 565.9 and has to be 570 or later",
        ]

    @pytest.mark.parametrize(
        ("version", "least", "is_older"),
        [
            ("1.9", "1.10", True),
            ("1.10.0", "1.10", False),
            ("1.22.0amzn1.0", "1.22", False),
            ("6.1", "6.12", True),
            ("x", "1", True),
        ],
    )
    def test_versions_are_compared_by_number(self, version, least, is_older):
        assert older(version, least) is is_older

    @given(st.text(max_size=20), st.text(max_size=20))
    def test_at_most_one_of_two_versions_is_older(self, one, other):
        assert not (older(one, other) and older(other, one))


class TestVariables:
    def test_nothing_harmful(self, p5):
        p5.write("/etc/environment", 'PATH="/usr/bin"\n# NCCL_BUFFERSIZE=8\n')
        fabric.write_environment(p5.node())
        assert check(p5, "environment").status == "pass"

    def test_harmful_settings_are_named_with_file_and_reason(self, p5):
        p5.write("/etc/environment", "NCCL_NET_GDR_LEVEL=LOC\n")
        p5.write("/etc/profile.d/site.sh", "export RDMAV_FORK_SAFE=1 NCCL_BUFFSIZE=8388608\n")
        result = check(p5, "environment")
        assert (result.status, result.action) == ("fail", "monitor")
        assert "NCCL_NET_GDR_LEVEL=LOC in /etc/environment: switches GPUDirect RDMA off" in result.value
        assert "RDMAV_FORK_SAFE=1 in /etc/profile.d/site.sh: breaks newer kernels" in result.value
        assert len(result.value) == 3

    @given(
        st.lists(
            st.sampled_from(
                [
                    "export RDMAV_FORK_SAFE=1",
                    "NCCL_NET_GDR_LEVEL=LOC",
                    "NCCL_NET_GDR_LEVEL=PHB",
                    "# NCCL_BUFFSIZE=1",
                    "NCCL_TUNER_PLUGIN=/opt/x.so",
                    "LD_PRELOAD='/usr/lib/libnccl.so'",
                    "echo $NCCL_BUFFSIZE",
                    "A=b",
                ]
            ),
            max_size=6,
        )
    )
    def test_the_node_and_the_rules_of_the_plan_find_the_same(self, lines):
        text = "\n".join(lines)
        bare = "\n".join(line for line in lines if not line.startswith("#"))
        planned = {(found.name, found.value, found.variable.reason) for found in assignments(bare)}
        assert set(in_text(text, node_facts()["fabric"]["never"])) == planned

    def test_the_environment_is_the_smallest_that_the_facts_ask_for(self, p5):
        fabric.write_environment(p5.node())
        lines = [line for line in p5.read("/etc/ultracluster/environment").splitlines() if not line.startswith("#")]
        assert lines == ["FI_EFA_USE_HUGE_PAGE=0", "NCCL_SOCKET_IFNAME=^lo,docker,veth,eni"]
        assert ". /etc/ultracluster/environment" in p5.read("/etc/profile.d/ultracluster.sh")
        assert p5.called("systemctl") == []

    def test_neuron_nodes_get_their_own(self, p5):
        p5.metadata["instance-type"] = "trn2.48xlarge"
        p5.settings["types"] = {"trn2.48xlarge": {"efa": 16}}
        fabric.write_environment(p5.node())
        lines = [line for line in p5.read("/etc/ultracluster/environment").splitlines() if not line.startswith("#")]
        assert lines == ["FI_PROVIDER=efa", "FI_EFA_USE_DEVICE_RDMA=1"]


class TestProgram:
    def run(self, machine, *arguments):
        parser = argparse.ArgumentParser()
        fabric.arguments(parser)
        return fabric.run(parser.parse_args(arguments), machine.node())

    def test_one_line_per_result(self, p5, capsys):
        assert self.run(p5) == 0
        assert [line.split(":")[0] for line in capsys.readouterr().out.splitlines()] == [
            "pass    efa",
            "pass    fabric_software",
            "pass    environment",
        ]

    def test_json_and_the_status_of_a_fault(self, p5, capsys):
        efa.libfabric(p5, efa.P5_CARDS[:31])
        assert self.run(p5, "--format", "json", "--write-environment") == 1
        (result, *_) = json.loads(capsys.readouterr().out)
        assert result["value"] == {"have": 31, "want": 32, "source": "fi_info"}
        assert (p5.root / "etc/ultracluster/environment").exists()

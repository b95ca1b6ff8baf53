"""Client tuning: who gets which value, when it is left out, when module options hold."""

from __future__ import annotations

import argparse

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.lustre import LUSTRE, LUSTRE_EFA, MOUNTINFO, SOURCE, LustreHost
from ultracluster.node import lustre
from ultracluster.node.host import NodeError
from ultracluster.node.lustre import tuning

OPTIONS = "/etc/modprobe.d/ultracluster-lustre.conf"
LARGE = {
    "ldlm.namespaces.abcdefgh-*.lru_max_age=600000",
    "ldlm.namespaces.abcdefgh-*.lru_size=19200",
    "osc.abcdefgh-OST*.max_rpcs_in_flight=32",
    "mdc.abcdefgh-MDT*.max_rpcs_in_flight=64",
    "mdc.abcdefgh-MDT*.max_mod_rpcs_in_flight=50",
}


def options(machine):
    return [line for line in machine.read(OPTIONS).splitlines() if not line.startswith("#")]


def values(machine):
    return [call.split(" ", 2)[2] for call in machine.called("lctl set_param")]


def sized(machine, *mounts, vcpus, memory_gib, **host):
    machine.settings["types"] = {"p5.48xlarge": {"vcpus": vcpus, "memory_gib": memory_gib}}
    return LustreHost(machine, *mounts or (LUSTRE,), **host)


def test_a_large_node_gets_all_that_is_not_opt_in(machine):
    LustreHost(machine, LUSTRE)
    lustre.tune_before_mount(machine.node())
    assert options(machine) == ["options ptlrpc ptlrpcd_per_cpt_max=32", "options ksocklnd credits=2560"]
    lustre.tune_after_mount(machine.node())
    assert set(values(machine)) == LARGE
    # All requests before the modifying ones: the client refuses a smaller number of all.
    assert values(machine).index("mdc.abcdefgh-MDT*.max_rpcs_in_flight=64") < values(machine).index(
        "mdc.abcdefgh-MDT*.max_mod_rpcs_in_flight=50"
    )


@pytest.mark.parametrize(
    ("vcpus", "memory_gib", "expected"),
    [
        (64, 64, set()),
        (65, 64, {"osc.abcdefgh-OST*", "mdc.abcdefgh-MDT*"}),
        (64, 65, {"ldlm.namespaces.abcdefgh-*"}),
        (65, 65, {"osc.abcdefgh-OST*", "mdc.abcdefgh-MDT*", "ldlm.namespaces.abcdefgh-*"}),
    ],
)
def test_the_limits_are_exclusive(machine, vcpus, memory_gib, expected):
    sized(machine, vcpus=vcpus, memory_gib=memory_gib)
    lustre.tune_before_mount(machine.node())
    assert (machine.root / OPTIONS.lstrip("/")).exists() is (vcpus > 64)
    lustre.tune_after_mount(machine.node())
    assert {value.rpartition(".")[0] for value in values(machine)} == expected


def test_socket_credits_are_for_tcp_only(machine):
    LustreHost(machine, LUSTRE_EFA)
    lustre.tune_before_mount(machine.node())
    assert options(machine) == ["options ptlrpc ptlrpcd_per_cpt_max=32"]
    LustreHost(machine, LUSTRE_EFA, LUSTRE | {"path": "/old"})
    lustre.tune_before_mount(machine.node())
    assert "options ksocklnd credits=2560" in options(machine)


@pytest.mark.parametrize(
    ("targets", "nodes", "left_out"), [(2, None, True), (8, 4, True), (3, 5, False), (8, None, False)]
)
def test_small_file_systems_and_few_clients_are_not_loaded_further(machine, capsys, targets, nodes, left_out):
    LustreHost(machine, LUSTRE, targets=targets)
    if nodes:
        machine.settings["nodes"] = nodes
    lustre.tune_after_mount(machine.node())
    assert any("rpcs_in_flight" in value for value in values(machine)) is not left_out
    assert any("lru_size" in value for value in values(machine))
    assert ("keep their defaults" in capsys.readouterr().err) is left_out


def test_opt_in_groups_only_where_the_fleet_asks_for_them(machine):
    LustreHost(machine, LUSTRE)
    machine.settings["tuning"] = ["checkpoint-writers", "large-directories", "large-memory-writeback"]
    machine.command(
        "lctl", '[[ $1 != get_param || $2 == -N ]] || for i in 1 2 3; do echo "osc.a-OST$i-osc-f.x=8"; done'
    )
    lustre.tune_after_mount(machine.node())
    assert set(values(machine)) == LARGE | {
        "osc.abcdefgh-OST*.max_dirty_mb=256",
        "osc.abcdefgh-OST*.max_pages_per_rpc=1024",
        "llite.abcdefgh-*.statahead_max=512",
        "llite.abcdefgh-*.statahead_agl=1",
        "llite.abcdefgh-*.statahead_xattr=1",
    }


def test_a_parameter_that_older_clients_lack_is_left_out(machine):
    LustreHost(machine, LUSTRE)
    machine.settings["tuning"] = ["large-directories"]
    machine.command("lctl", "[[ $* != *statahead_xattr* ]]")
    lustre.tune_after_mount(machine.node())
    assert not any("statahead_xattr" in value for value in values(machine))
    assert any("statahead_max" in value for value in values(machine))


def test_a_value_that_the_client_does_not_take_is_a_failure(machine):
    LustreHost(machine, LUSTRE)
    machine.command("lctl", "[[ $1 != set_param ]] || { echo 'error: set_param: No such file' >&2; exit 2; }")
    with pytest.raises(NodeError, match="set_param"):
        lustre.tune_after_mount(machine.node())


class TestLoadedModules:
    LOADED = "/sys/module/ptlrpc/parameters/ptlrpcd_per_cpt_max"

    def test_they_are_reloaded_while_nothing_is_mounted(self, machine, capsys):
        LustreHost(machine, LUSTRE)
        machine.write(self.LOADED, "2\n")
        machine.command("lustre_rmmod", f'rm "$ROOT{self.LOADED}"')
        lustre.tune_before_mount(machine.node())
        assert machine.called("lustre_rmmod")
        assert "next boot" not in capsys.readouterr().err

    def test_under_a_mount_they_stay_and_one_line_says_so(self, machine, capsys):
        LustreHost(machine, LUSTRE)
        machine.write(MOUNTINFO, f"1 2 0:3 / /fsx rw - lustre {SOURCE} rw\n")
        machine.write(self.LOADED, "2\n")
        machine.command("lustre_rmmod")
        lustre.tune_before_mount(machine.node())
        assert not machine.called("lustre_rmmod")
        assert "ptlrpc.ptlrpcd_per_cpt_max take effect at the next boot" in capsys.readouterr().err

    def test_the_right_value_is_no_news(self, machine, capsys):
        LustreHost(machine, LUSTRE)
        machine.write(self.LOADED, "32\n")
        machine.command("lustre_rmmod")
        lustre.tune_before_mount(machine.node())
        assert not machine.called("lustre_rmmod")
        assert "next boot" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("source", "name"),
    [
        (SOURCE, "abcdefgh"),
        ("fs-1.fsx.us-east-1.amazonaws.com@tcp:/fsx", "fsx"),
        ("fs-1@tcp:/abcdefgh/team/data", "abcdefgh"),
    ],
)
def test_the_name_of_a_file_system(source, name):
    assert tuning.file_system(source) == name


@pytest.mark.parametrize("source", ["", "fs-1@tcp", "fs-1@tcp:/", "fs-1:"])
def test_what_is_no_lustre_source(source):
    with pytest.raises(NodeError, match="is no Lustre file system"):
        tuning.file_system(source)


def test_get_param():
    text = (
        "osc.abcdefgh-OST0000-osc-ffff888101.max_rpcs_in_flight=8\n"
        "osc.abcdefgh-OST0000-osc-ffff888101.import=\n"
        "import:\n    name: abcdefgh-OST0000-osc-ffff888101\n    state: FULL\n"
        "llite.abcdefgh-ffff888101.uuid=0e3a-11=x\n"
    )
    assert tuning.parameters(text) == {
        "osc.abcdefgh-OST0000-osc-ffff888101.max_rpcs_in_flight": "8",
        "osc.abcdefgh-OST0000-osc-ffff888101.import": (
            "import:\n    name: abcdefgh-OST0000-osc-ffff888101\n    state: FULL"
        ),
        "llite.abcdefgh-ffff888101.uuid": "0e3a-11=x",
    }


_NAMES = st.from_regex(r"(osc|mdc|llite)\.[a-z]{8}-OST[0-9a-f]{4}-osc-ffff[0-9a-f]{8}\.[a-z_]{3,12}", fullmatch=True)
_VALUES = st.from_regex(r"[a-z0-9 :=/-]{0,12}", fullmatch=True)


@given(st.dictionaries(_NAMES, _VALUES))
def test_any_parameters(found):
    assert tuning.parameters("".join(f"{name}={value}\n" for name, value in found.items())) == found


def test_the_program_sets_them_again(machine):
    LustreHost(machine, LUSTRE)
    assert lustre.run(argparse.Namespace(command="tune"), machine.node()) == 0
    assert set(values(machine)) == LARGE

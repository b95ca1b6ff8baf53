"""Parsers on whole, cut and garbled output: what cannot be read is one line, never a traceback and never a pass."""

from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support import gpus
from support.outputs import GIB, NCCOM, dcgm3, dcgm4, nccl, neuron_ls, warning
from ultracluster.node.health.collectives import parse_nccl, parse_nccom
from ultracluster.node.health.dcgm import parse_diagnostics
from ultracluster.node.health.kernel_log import parse_events, recovery_of
from ultracluster.node.health.network import parse_statistics
from ultracluster.node.health.neuron import parse_devices
from ultracluster.node.health.nvidia_smi import parse_links, parse_query, place
from ultracluster.node.health.system import parse_tracking
from ultracluster.node.results import UnreadableError
from ultracluster.plan.node_facts import node_facts

LOG = "\n".join(gpus.xid_line(n % 8, f"{xid}, pid=1896, something") for n, xid in enumerate((13, 79, 63, 154, 48)))
SAMPLES = {
    "query": (parse_query, gpus.smi_xml()),
    "links": (parse_links, gpus.nvlink_status(inactive={2: [1]})),
    "dcgm 4": (parse_diagnostics, dcgm4({"pcie": warning(2, "slow")})),
    "dcgm 3": (parse_diagnostics, dcgm3("Fail")),
    "neuron-ls": (parse_devices, neuron_ls(16)),
    "neuron-ls, wrapped": (parse_devices, neuron_ls(4, wrapped=True)),
    "nccl-tests": (parse_nccl, nccl([(GIB, 430, 0), (8 * GIB, 478.5, 0)])),
    "nccom-test": (parse_nccom, NCCOM),
    "kernel log": (parse_events, LOG),
    "ethtool": (parse_statistics, gpus.ethtool()),
    "chrony": (parse_tracking, gpus.TRACKING.format(offset="0.000001", leap="Normal")),
}
WHOLE_OR_NOTHING = ("query", "dcgm 4", "dcgm 3", "neuron-ls", "neuron-ls, wrapped")


@pytest.mark.parametrize("name", SAMPLES)
def test_whole_output_is_read(name):
    parse, text = SAMPLES[name]
    assert parse(text)


@pytest.mark.parametrize("name", WHOLE_OR_NOTHING)
@settings(max_examples=40)
@given(data=st.data())
def test_a_document_that_is_cut_off_is_unreadable(name, data):
    parse, text = SAMPLES[name]
    cut = data.draw(st.integers(0, len(text.rstrip()) - 1))
    with pytest.raises(UnreadableError):
        parse(text[:cut])


@pytest.mark.parametrize("name", SAMPLES)
@settings(max_examples=60)
@given(data=st.data())
def test_garbled_output_ends_in_no_traceback(name, data):
    parse, text = SAMPLES[name]
    start = data.draw(st.integers(0, len(text)))
    length = data.draw(st.integers(0, 40))
    garbled = text[:start] + data.draw(st.text(max_size=20)) + text[start + length :]
    with contextlib.suppress(UnreadableError):
        parse(garbled)


@pytest.mark.parametrize("name", SAMPLES)
@given(text=st.text(max_size=100))
def test_any_text_ends_in_no_traceback(name, text):
    with contextlib.suppress(UnreadableError):
        SAMPLES[name][0](text)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "DCGM Diagnostic",
                    "test_categories",
                    "tests",
                    "results",
                    "test_summary",
                    "status",
                    "warnings",
                    "neuron_devices",
                    "neuron_device",
                    "nc_count",
                ]
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=12,
)


@given(JSON)
def test_documents_of_another_shape_end_in_no_traceback(document):
    for parse in (parse_diagnostics, parse_devices):
        with contextlib.suppress(UnreadableError):
            parse(json.dumps(document))


@given(st.integers(0, 8), st.integers(0, 18), st.data())
def test_links_are_counted(count, links, data):
    down = {n: data.draw(st.lists(st.integers(0, 17), unique=True)) for n in range(count)}
    if not count:
        return
    found = parse_links(gpus.nvlink_status(count, links, down))
    assert [(each.index, each.up + each.down) for each in found] == [(n, links) for n in range(count)]
    assert [each.down for each in found] == [sum(link < links for link in down[n]) for n in range(count)]


@given(st.lists(st.tuples(st.integers(0, 7), st.integers(1, 200)), max_size=30))
def test_messages_are_counted_by_part_and_number(seen):
    noise = "2026-11-30T21:57:00+0000 ip kernel: NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64"
    lines = [noise, *(gpus.xid_line(gpu, f"{xid}, pid=1, text") for gpu, xid in seen), noise]
    found = {(each.place, each.number): each.count for each in parse_events("\n".join(lines))}
    assert found == {(gpus.place(gpu), xid): seen.count((gpu, xid)) for gpu, xid in seen}


@given(st.text(max_size=60))
def test_a_recovery_action_is_always_one_of_the_scale(text):
    facts = node_facts()["health"]
    assert recovery_of(text, facts["recovery_actions"]) in facts["actions"]


@pytest.mark.parametrize("text", ["00000000:53:00.0", "0000:53:00", "00000000:53:00", "0000:53:00.0"])
def test_a_place_has_one_form(text):
    assert place(text) == "0000:53:00"

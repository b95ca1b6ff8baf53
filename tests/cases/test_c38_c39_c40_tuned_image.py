"""Fault cases C38, C39 and C40 on tuned images: versions, reboots before modules, the name of the root device."""

from __future__ import annotations

import copy
import dataclasses

import aws_cdk as cdk
import pytest

from support.compared import assert_change_finds, assert_change_passes, changes
from support.images import tuned_image
from support.policy import judged
from support.templates import all_properties, only
from ultracluster import Al2023, Dlami, Ubuntu, image_versions

COMPONENT, RECIPE = "AWS::ImageBuilder::Component", "AWS::ImageBuilder::ImageRecipe"
BASES = {
    "dlami": Dlami(),
    "al2023": Al2023(),
    "ubuntu-22.04": Ubuntu(version="22.04"),
    "ubuntu-24.04": Ubuntu(),
}


@pytest.fixture
def template_of(make_app, synth):
    """Synthesize an image in an application of its own, as two deployments would."""

    def make(**arguments):
        app = make_app()
        stack = cdk.Stack(app, "Test", env=cdk.Environment(account="111122223333", region="us-east-1"))
        tuned_image(stack, **arguments)
        return synth(stack)

    return make


def versions(template):
    return {each["Name"]: each["Version"] for kind in (COMPONENT, RECIPE) for each in all_properties(template, kind)}


def test_c38_the_same_content_has_the_same_versions(template_of):
    assert versions(template_of()) == versions(template_of())


def test_c38_another_base_is_another_recipe_under_the_same_name(template_of):
    old, new = template_of(base=Al2023()), template_of(base=Ubuntu())
    assert versions(old).keys() == versions(new).keys()
    assert only(old, RECIPE)["Version"] != only(new, RECIPE)["Version"]
    assert_change_passes("UC-IMG-001", old, new)


def test_c38_another_script_is_another_component_and_another_recipe(template_of):
    newer = dataclasses.replace(image_versions(), efa="1.50.0", efa_sha256=None)
    old, new = template_of(), template_of(versions=newer)
    before, after = versions(old), versions(new)
    changed = {name for name in before if before[name] != after[name]}
    assert {name.rpartition("-")[2] for name in changed if name.endswith("-efa")} == {"efa"}
    assert only(new, RECIPE)["Name"] in changed
    assert len(changed) == 2
    assert_change_passes("UC-IMG-001", old, new)


def test_c38_the_rule_would_find_a_version_that_stayed(template_of):
    old = template_of()
    new = copy.deepcopy(old)
    body = next(each for each in new["Resources"].values() if each["Type"] == COMPONENT)
    body["Properties"]["Data"] += "# another content\n"
    assert_change_finds("UC-IMG-001", old, new, place="Version")
    assert changes("UC-IMG-001", old, old) == []


@pytest.mark.parametrize("base", BASES)
def test_c39_nothing_is_built_for_a_kernel_that_never_boots(template_of, base):
    outcome = judged(template_of(base=BASES[base]))
    assert "UC-IMG-002" not in outcome.ids | outcome.not_judged
    assert "UC-IMG-003" not in outcome.ids | outcome.not_judged


@pytest.mark.parametrize("base", ["al2023", "ubuntu-24.04"])
def test_c39_the_rule_would_find_the_update_without_its_reboot(template_of, base):
    """The reboot is what makes it right: without that step the rule speaks up."""
    template = template_of(base=BASES[base])
    body = next(
        each
        for each in template["Resources"].values()
        if each["Type"] == COMPONENT and each["Properties"]["Name"].endswith("-kernel")
    )
    data = body["Properties"]["Data"]
    at = data.index("  - name: BootThatKernel")
    rest = data.index("  - name: HoldKernel")
    hold_to = data.index("- name: validate")
    body["Properties"]["Data"] = data[:at] + data[hold_to:] if rest > at else data
    assert "UC-IMG-002" in judged(template).ids


@pytest.mark.parametrize("base", BASES)
def test_c39_a_new_instance_of_the_image_is_asked_for_its_modules(template_of, base):
    template = template_of(base=BASES[base])
    (test,) = [each["Data"] for each in all_properties(template, COMPONENT) if each["Name"].endswith("-test")]
    assert "KERNEL_MODULES='nvidia efa lustre gdrdrv'" in test
    assert "- name: test" in test


@pytest.mark.parametrize(
    ("base", "device"),
    [("dlami", "/dev/xvda"), ("al2023", "/dev/xvda"), ("ubuntu-22.04", "/dev/sda1"), ("ubuntu-24.04", "/dev/sda1")],
)
def test_c40_the_root_volume_of_the_recipe_and_of_its_fleets(template_of, base, device):
    template = template_of(base=BASES[base])
    (mapping,) = only(template, RECIPE)["BlockDeviceMappings"]
    assert mapping["DeviceName"] == device
    assert "UC-IMG-006" not in judged(template).ids


def test_c40_a_fleet_of_the_image_maps_its_root_device(stack):
    made = tuned_image(stack, base=Ubuntu())
    assert made.image.root_device_name == "/dev/sda1"
    assert made.image.os == "ubuntu-24.04"

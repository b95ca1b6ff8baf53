"""Findings that somebody has accepted: where that may stand, what it covers, when it is refused or stale."""

from __future__ import annotations

import pytest

from ultracluster.findings import Severity
from ultracluster.policy.check import Options, check_template
from ultracluster.policy.settings import BadSettings, find_settings, read_settings

TEMPLATE = """\
Resources:
  Data:
    Type: AWS::FSx::FileSystem
    %s
    Properties:
      FileSystemType: LUSTRE
      StorageCapacity: %s
      SubnetIds: [subnet-1]
      LustreConfiguration: {DeploymentType: PERSISTENT_2, PerUnitStorageThroughput: 125}
"""
ERROR_ONLY = ("UC-LUS-018", "UC-ACK")


def ids(report) -> list[str]:
    return sorted(found.rule_id for found in report.findings)


def judged(metadata: str, size: int = 2400, select=ERROR_ONLY, **options):
    return check_template(TEMPLATE % (metadata, size), options=Options(select=select, **options))


def note(text: str) -> str:
    return f"Metadata: {{ultracluster: {{acknowledge: [{text}]}}}}"


def test_without_an_acknowledgement_the_finding_is_open() -> None:
    assert ids(judged("")) == ["UC-LUS-018"]


def test_a_reason_in_the_metadata_of_the_resource_accepts_an_error() -> None:
    report = judged(note("{id: UC-LUS-018, reason: 'rebuilt from S3 every night, OPS-7'}"))
    assert report.findings == ()
    (accepted,) = report.acknowledged
    assert accepted.reason == "rebuilt from S3 every night, OPS-7"
    assert accepted.finding.rule_id == "UC-LUS-018"


@pytest.mark.parametrize("reason", ["", ", reason: ''", ", reason: '   '", ", reason: ~"])
def test_without_a_reason_it_does_not_count(reason: str) -> None:
    report = judged(note(f"{{id: UC-LUS-018{reason}}}"))
    assert ids(report) == ["UC-ACK-001", "UC-LUS-018"]
    assert next(found.line for found in report.findings if found.rule_id == "UC-ACK-001") == 4


def test_what_is_fatal_cannot_be_acknowledged() -> None:
    report = judged(note("{id: UC-LUS-001, reason: please}"), 3000, ("UC-LUS-001", "UC-ACK"))
    assert ids(report) == ["UC-ACK-001", "UC-LUS-001"]
    assert "is fatal and cannot be acknowledged" in report.findings[0].message


def test_an_acknowledgement_that_meets_nothing_is_stale() -> None:
    report = judged(note("{id: UC-LUS-002, reason: old}"), select=("UC-LUS-002", "UC-ACK"))
    assert ids(report) == ["UC-ACK-002"]
    assert report.findings[0].severity is Severity.WARNING
    assert "UC-LUS-002 is acknowledged on Data" in report.findings[0].message


def test_a_rule_that_is_left_out_makes_nothing_stale() -> None:
    assert ids(judged(note("{id: UC-LUS-002, reason: old}"), select=("UC-DRA", "UC-ACK"))) == []


def test_a_rule_that_was_not_judged_makes_nothing_stale() -> None:
    metadata = note("{id: UC-LUS-001, reason: decided at deployment}")
    report = check_template(
        TEMPLATE % (metadata, "!ImportValue size"), options=Options(select=("UC-LUS-001", "UC-ACK"))
    )
    assert ids(report) == []
    assert report.not_judged


def test_an_unknown_id_is_refused_with_what_was_meant() -> None:
    report = judged(note("{id: UC-LUS-18, reason: r}"))
    assert ids(report) == ["UC-ACK-003", "UC-LUS-018"]
    assert "did you mean UC-LUS-018" in next(found.message for found in report.findings if "ACK" in found.rule_id)


def test_the_metadata_of_the_template_covers_all_of_it() -> None:
    whole = "Metadata: {ultracluster: {acknowledge: [{id: UC-LUS-018, reason: a test bed}]}}\n"
    assert check_template(whole + TEMPLATE % ("", 2400), options=Options(select=ERROR_ONLY)).findings == ()


@pytest.mark.parametrize(
    "odd", ["{ultracluster: 5}", "{ultracluster: {acknowledge: x}}", "5", "[]", "{ultracluster: ~}"]
)
def test_metadata_of_another_form_is_passed_over(odd: str) -> None:
    assert ids(judged(f"Metadata: {odd}")) == ["UC-LUS-018"]


@pytest.mark.parametrize("entry", ["5", "~", "[]", "{}"])
def test_an_entry_of_another_form_is_refused(entry: str) -> None:
    assert ids(judged(note(entry))) == ["UC-ACK-003", "UC-LUS-018"]


class TestSettings:
    def write(self, tmp_path, text: str, name: str = "ultracluster.toml"):
        file = tmp_path / name
        file.write_text(text, encoding="utf-8")
        return file

    def test_everything_that_can_be_set(self, tmp_path) -> None:
        file = self.write(
            tmp_path,
            '[check]\nselect = ["UC-LUS", "UC-NIC-004"]\nignore = ["UC-LUS-006"]\nfail-on = "warning"\n'
            'baseline = "known.json"\nregion = "us-west-2"\naccount = "111122223333"\nwith = ["cfn-lint"]\n'
            '[[check.acknowledge]]\nid = "UC-LUS-018"\nreason = "a test bed"\n'
            'resource = "Data*"\ntemplate = "*.yaml"\n',
        )
        settings = read_settings(file)
        assert settings.select == ("UC-LUS", "UC-NIC-004")
        assert settings.ignore == ("UC-LUS-006",)
        assert (settings.fail_on, settings.region, settings.account) == ("warning", "us-west-2", "111122223333")
        assert settings.baseline == str(tmp_path / "known.json")
        assert settings.engines == ("cfn-lint",)
        (given,) = settings.acknowledgements
        assert (given.rule_id, given.reason, given.resource, given.file) == (
            "UC-LUS-018",
            "a test bed",
            "Data*",
            "*.yaml",
        )

    def test_both_files_are_found_the_own_one_first(self, tmp_path) -> None:
        assert find_settings(tmp_path) is None
        project = self.write(tmp_path, "[project]\nname = 'x'\n", "pyproject.toml")
        assert find_settings(tmp_path) is None
        project.write_text("[tool.ultracluster.check]\nignore = ['UC-DRA']\n")
        assert find_settings(tmp_path) == project
        assert read_settings(project).ignore == ("UC-DRA",)
        own = self.write(tmp_path, "[check]\n")
        assert find_settings(tmp_path) == own

    @pytest.mark.parametrize(
        ("text", "told"),
        [
            ("[check]\nselct = ['UC']\n", "selct is no setting of check; did you mean select?"),
            ("[check]\nselect = ['UC-LUSS']\n", "UC-LUSS is no rule and no area; did you mean UC-LUS"),
            ("[check]\nselect = 'UC'\n", "select: a list of texts is needed"),
            ("[check]\nbaseline = 5\n", "baseline: a text is needed"),
            ("check = 5\n", "check is no table"),
            ("[check]\nacknowledge = 5\n", "acknowledge: a list of tables is needed"),
            (
                "[[check.acknowledge]]\nid = 'UC-LUS-18'\nreason = 'r'\n",
                "UC-LUS-18 is no rule; did you mean UC-LUS-018",
            ),
            ("[[check.acknowledge]]\nid = 'UC-LUS-018'\n", "UC-LUS-018 needs a reason"),
            (
                "[[check.acknowledge]]\nid = 'UC-LUS-018'\nreason = 'r'\nresorce = 'x'\n",
                "did you mean resource",
            ),
            ("[[check.acknowledge]]\nid = 5\n", "a table of texts is needed"),
            ("[check\n", "Expected"),
        ],
    )
    def test_faults_of_a_configuration_say_what_was_meant(self, tmp_path, text: str, told: str) -> None:
        with pytest.raises(BadSettings, match=r"ultracluster\.toml") as refused:
            read_settings(self.write(tmp_path, text))
        assert told in str(refused.value)

    def test_all_faults_are_told_together(self, tmp_path) -> None:
        with pytest.raises(BadSettings) as refused:
            read_settings(self.write(tmp_path, "[check]\na = 1\nb = 2\n"))
        assert len(str(refused.value).splitlines()) == 2

    def test_an_acknowledgement_of_the_configuration_is_narrowed_by_file_and_resource(self, tmp_path) -> None:
        template = self.write(tmp_path, TEMPLATE % ("", 2400), "t.yaml")
        for resource, file, count in (("Data", "*", 0), ("D?ta", "*/t.yaml", 0), ("Other", "*", 1), ("*", "u.yaml", 1)):
            settings = read_settings(
                self.write(
                    tmp_path,
                    "[[check.acknowledge]]\nid = 'UC-LUS-018'\nreason = 'r'\n"
                    f"resource = '{resource}'\ntemplate = '{file}'\n",
                )
            )
            options = Options(select=("UC-LUS-018",), acknowledgements=settings.acknowledgements)
            assert len(check_template(template, options=options).findings) == count, (resource, file)

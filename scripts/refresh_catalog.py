"""Keep `facts/data/instances.json` in step with EC2: regenerate the fields that follow from its API, print changes.

    python scripts/refresh_catalog.py            changes against the DescribeInstanceTypes answers captured in moto
    python scripts/refresh_catalog.py --live --region us-east-1    against a live account (boto3, read only)

`--check` exits 1 when anything differs, `--write` writes the file. `api_fields` in the file names the fields of a
record, `offering_fields` those of the offerings, and `kept` in a row the API fields for which another source is
believed. Other fields are kept by hand: see `sources` of the row.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from ultracluster.facts.instance_record import from_describe_instance_types
from ultracluster.facts.instance_type import InstanceType, NetworkCard, NvmeDisk
from ultracluster.facts.instances import DATA_FILE

Document = dict[str, Any]
RECORD_SOURCE = "ec2-api"
OFFERING_SOURCE = "ec2-offerings"
LOCATION = "availability-zone-id"


@dataclass(frozen=True, kw_only=True)
class Answers:
    """What EC2 said.

    Attributes:
        title: where it was asked.
        records: DescribeInstanceTypes records by type.
        offerings: for each Region that was asked, the zone ids that offer a type.
        all_regions: whether a type without a record is missing, or only not offered in the Region that was asked.
    """

    title: str
    records: Mapping[str, Any]
    offerings: Mapping[str, Mapping[str, list[str]]]
    all_regions: bool

    def zones(self, name: str, recorded: Mapping[str, Any]) -> dict[str, Any]:
        """Zone ids of a type by Region; a Region that was not asked keeps what is recorded."""
        asked = {region: zones[name] for region, zones in self.offerings.items() if name in zones}
        kept = {region: zones for region, zones in recorded.items() if region not in self.offerings}
        return dict(sorted({**kept, **asked}.items()))


def captured() -> Answers:
    """The answers that the installed moto ships."""
    import moto  # a development tool, and heavy

    folder = Path(moto.__file__).parent / "ec2" / "resources"
    offerings = {}
    for path in sorted((folder / "instance_type_offerings" / LOCATION).glob("*.json.gz")):
        offerings[path.name.removesuffix(".json.gz")] = _zones(_unzip(path))
    records: dict[str, Any] = _unzip(folder / "instance_types.json.gz")
    title = f"as captured in moto {metadata.version('moto')}"
    return Answers(title=title, records=records, offerings=offerings, all_regions=True)


def live(region: str, names: Iterable[str]) -> Answers:
    """The answers of one Region of the account whose credentials are set."""
    import boto3  # only for --live

    ec2 = boto3.client("ec2", region_name=region)
    wanted = [{"Name": "instance-type", "Values": sorted(names)}]
    pages = ec2.get_paginator("describe_instance_types").paginate(Filters=wanted)
    records = {row["InstanceType"]: row for page in pages for row in page["InstanceTypes"]}
    pages = ec2.get_paginator("describe_instance_type_offerings").paginate(LocationType=LOCATION, Filters=wanted)
    rows = [row for page in pages for row in page["InstanceTypeOfferings"]]
    offerings = {region: _zones(rows)}
    return Answers(title=f"asked in {region}", records=records, offerings=offerings, all_regions=False)


def _unzip(path: Path) -> Any:  # noqa: ANN401 - parsed JSON
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        return json.load(stream)


def _zones(rows: Sequence[Mapping[str, str]]) -> dict[str, list[str]]:
    zones: dict[str, list[str]] = {}
    for row in sorted(rows, key=lambda row: row["Location"]):
        zones.setdefault(row["InstanceType"], []).append(row["Location"])
    return zones


def card_groups(cards: Sequence[NetworkCard]) -> list[dict[str, Any]]:
    """Cards with equal limits as one group, in the short form of the file."""
    groups: dict[tuple[tuple[str, ...], int | None, float | None], list[int]] = {}
    for card in cards:
        groups.setdefault((card.interface_types, card.max_interfaces, card.peak_gbps), []).append(card.index)
    return [
        {"cards": _short(indexes), "interface_types": list(types), "max_interfaces": most, "peak_gbps": _plain(peak)}
        for (types, most, peak), indexes in groups.items()
    ]


def _short(indexes: list[int]) -> str:
    run = len(indexes) > 2 and indexes == list(range(indexes[0], indexes[-1] + 1))  # noqa: PLR2004
    return f"{indexes[0]}-{indexes[-1]}" if run else ",".join(map(str, indexes))


def _plain(value: Any) -> Any:  # noqa: ANN401 - any value of a row
    if isinstance(value, tuple):
        return [asdict(entry) if isinstance(entry, NvmeDisk) else entry for entry in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def fresh_row(row: Mapping[str, Any], facts: InstanceType, api_fields: Iterable[str]) -> dict[str, Any]:
    """The row with its API fields taken from the record, except those for which another source is believed."""
    fresh = dict(row)
    for name in set(api_fields) - set(row.get("kept", ())):
        value = getattr(facts, name)
        fresh[name] = card_groups(value) if name == "network_cards" else _plain(value)
    return fresh


def changes(document: Document, answers: Answers) -> tuple[Document, list[str]]:
    """The refreshed document and one line per difference."""
    rows, lines = {}, []
    for name, row in document["instances"].items():
        fresh = dict(row)
        if name in answers.records:
            fresh = fresh_row(row, from_describe_instance_types(answers.records[name]), document["api_fields"])
        elif answers.all_regions and RECORD_SOURCE in row["sources"]["vcpus"]:
            lines.append(f"{name}: no record, though the row names {RECORD_SOURCE} as its source")
        for field in document["offering_fields"]:
            fresh[field] = answers.zones(name, row[field])
        lines += [f"{name}.{key}: {_text(row[key])} -> {_text(fresh[key])}" for key in row if row[key] != fresh[key]]
        rows[name] = fresh
    return {**document, "instances": rows}, lines


def dated(document: Document, title: str, day: str) -> Document:
    """The document whose API sources say where and when they were asked."""
    sources = dict(document["sources"])
    for key in (RECORD_SOURCE, OFFERING_SOURCE):
        question = sources[key]["title"].partition(", ")[0]
        sources[key] = {"title": f"{question}, {title}", "as_of": day, "note": sources[key]["note"]}
    return {**document, "sources": sources}


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def render(document: Document) -> str:
    """The file's text: one fact per line, so that a change shows as one line in a diff."""
    parts = [f"  {_text(key)}: {_block(key, value)}" for key, value in document.items()]
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _block(key: str, value: Any) -> str:  # noqa: ANN401 - parsed JSON
    if key == "sources":
        return _lines(value, 4, _text)
    if key == "instances":
        return _lines(value, 4, lambda row: _lines(row, 6, _text))
    return _text(value)


def _lines(rows: Mapping[str, Any], indent: int, write: Any) -> str:  # noqa: ANN401 - a function of JSON
    pad = " " * indent
    body = ",\n".join(f"{pad}{_text(key)}: {write(value)}" for key, value in rows.items())
    return "{\n" + body + "\n" + " " * (indent - 2) + "}"


def main(argv: Sequence[str] | None = None) -> int:
    """Print the differences; see the module's text for the options."""
    parser = argparse.ArgumentParser(description="regenerate the API fields of the instance catalogue")
    parser.add_argument("--live", action="store_true", help="ask a live account instead of moto's capture")
    parser.add_argument("--region", help="the Region to ask (with --live)")
    parser.add_argument("--as-of", help="the date of the answers (with --write); today with --live")
    parser.add_argument("--file", type=Path, default=DATA_FILE, help="the catalogue to refresh")
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--check", action="store_true", help="exit 1 when anything differs")
    action.add_argument("--write", action="store_true", help="write the refreshed file")
    options = parser.parse_args(argv)
    if options.live != bool(options.region):
        parser.error("--live and --region go together")
    if options.write and not options.live and not options.as_of:
        parser.error("--write needs --as-of with a capture: its own date says when EC2 was asked")
    document = json.loads(options.file.read_text(encoding="utf-8"))
    answers = live(options.region, document["instances"]) if options.live else captured()
    fresh, lines = changes(document, answers)
    print("\n".join(lines) or f"no difference in {len(document['instances'])} types ({answers.title})")
    if options.write and lines:
        day = options.as_of or datetime.now(tz=UTC).date().isoformat()
        fresh = dated(fresh, answers.title, day)
        options.file.write_text(render(fresh), encoding="utf-8")
        print(f"wrote {options.file}")
    return 1 if options.check and lines else 0


if __name__ == "__main__":
    sys.exit(main())

"""`ultracluster catalog`: the instance types that the constructs know, as a table, one in detail, or as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import click

from ultracluster.facts.instances import InstanceType, UnknownInstanceType, catalog_as_of, instance_type, sources
from ultracluster.facts.instances import catalog as all_types
from ultracluster_cli.catalog_queries import PURCHASE_OPTIONS, ways_to_buy
from ultracluster_cli.output import format_option, print_json

__all__ = ["catalog"]

VENDORS = ("nvidia", "aws")
EFA_GENERATIONS = ("v1", "v2", "v3", "v4")


@click.command(short_help="Show instance types: accelerators, network cards, prices.")
@click.argument("types", metavar="[TYPE]...", nargs=-1)
@click.option("--accelerator", metavar="NAME", help="Only types with this accelerator, for example h100 or trainium2.")
@click.option("--vendor", type=click.Choice(VENDORS), help="Only types with accelerators of this maker.")
@click.option("--efa-generation", type=click.Choice(EFA_GENERATIONS), help="Only types with this generation of EFA.")
@click.option("--purchase-option", type=click.Choice(PURCHASE_OPTIONS), help="Only types that can be bought this way.")
@click.option("--region", metavar="REGION", help="Only types on record in this Region; shows their zone ids.")
@click.option(
    "--record",
    "records",
    metavar="FILE",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Also read types from a saved answer of `aws ec2 describe-instance-types`; can be repeated.",
)
@format_option()
def catalog(
    *,
    types: tuple[str, ...],
    accelerator: str | None,
    vendor: str | None,
    efa_generation: str | None,
    purchase_option: str | None,
    region: str | None,
    records: tuple[Path, ...],
    output_format: str,
) -> None:
    """Show accelerated instance types: accelerators, network cards, EFA, ways to buy, prices.

    With one TYPE everything that is known about it is shown, with its sources. Several options narrow the list
    together.
    """
    known = _known(records)
    chosen = _named(types, known) if types else tuple(known.values())
    if accelerator:
        chosen = _with_accelerator(accelerator, chosen, known)
    chosen = tuple(
        facts
        for facts in chosen
        if vendor in {None, facts.vendor}
        and efa_generation in {None, facts.efa_generation}
        and purchase_option in {None, *ways_to_buy(facts, region)}
        and (region is None or ways_to_buy(facts, region))
    )
    if output_format == "json":
        _print_json(chosen)
    elif len(types) == 1 and chosen:
        from ultracluster_cli.catalog_detail import print_type

        print_type(chosen[0])
    else:
        from ultracluster_cli.catalog_table import print_types

        print_types(chosen, region=region)


def _known(records: tuple[Path, ...]) -> Mapping[str, InstanceType]:
    if not records:
        return all_types()
    from ultracluster.facts.instance_record import catalog_with_records

    return catalog_with_records(records)


def _named(names: tuple[str, ...], known: Mapping[str, InstanceType]) -> tuple[InstanceType, ...]:
    chosen = []
    for name in dict.fromkeys(names):
        try:
            chosen.append(instance_type(name, catalog=known))
        except UnknownInstanceType as error:
            (found,) = error.findings
            fix = found.fix.replace("(instance_type_records)", "(--record FILE)")
            raise click.BadParameter(f"{found.message}; {fix} [{found.rule_id}]", param_hint="TYPE") from None
    return tuple(chosen)


def _with_accelerator(
    wanted: str, chosen: tuple[InstanceType, ...], known: Mapping[str, InstanceType]
) -> tuple[InstanceType, ...]:
    def has(facts: InstanceType) -> bool:
        return wanted.lower() in facts.accelerator_name.lower()

    if not any(has(facts) for facts in known.values()):
        names = ", ".join(dict.fromkeys(facts.accelerator_name for facts in known.values() if facts.accelerator_name))
        raise click.BadParameter(f"no type has {wanted!r}; there are {names}", param_hint="--accelerator")
    return tuple(facts for facts in chosen if has(facts))


def _print_json(chosen: tuple[InstanceType, ...]) -> None:
    used = {key for facts in chosen for keys in facts.sources.values() for key in keys}
    used |= {key for facts in chosen for dispute in facts.disputed for _, key in dispute.others}
    print_json(
        {
            "as_of": catalog_as_of(),
            "instance_types": chosen,
            "sources": {key: source for key, source in sources().items() if key in used},
        }
    )

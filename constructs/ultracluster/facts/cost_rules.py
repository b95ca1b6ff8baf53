"""Reader of `data/cost_rules.json`: tag keys that tell whose cost it is, and when monitoring becomes dear."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

from ultracluster.values import dataclass

__all__ = ["CostRuleFacts", "cost_rule_facts"]

DATA_FILE = Path(__file__).with_name("data") / "cost_rules.json"
# Words of CostCentre, cost-centre, cost_centre and acme:cost:centre.
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


@dataclass(frozen=True, slots=True, kw_only=True)
class CostRuleFacts:
    """What the rules on cost compare with.

    Attributes:
        cost_tag_words: words of tag keys that tell whose cost it is.
        detailed_monitoring_nodes: from so many nodes on detailed monitoring is reported.
    """

    cost_tag_words: frozenset[str]
    detailed_monitoring_nodes: int

    def is_cost_tag(self, key: str) -> bool:
        """Whether a tag key tells whose cost it is."""
        return any(word.lower() in self.cost_tag_words for word in _WORD.findall(key))


@cache
def cost_rule_facts() -> CostRuleFacts:
    """The facts, read once."""
    document: dict[str, Any] = json.loads(DATA_FILE.read_text(encoding="utf-8"))
    return CostRuleFacts(
        cost_tag_words=frozenset(document["cost_tag_words"]["value"]),
        detailed_monitoring_nodes=int(document["detailed_monitoring_nodes"]["value"]),
    )

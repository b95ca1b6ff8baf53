"""Keep `facts/data/endpoint_services.json` in step with the services that the installed aws-cdk-lib knows.

python scripts/refresh_endpoint_services.py    writes the file; the tests fail when it is behind
"""

from __future__ import annotations

import json
from datetime import UTC, datetime

from aws_cdk import aws_ec2 as ec2

from ultracluster.facts.endpoints import SERVICES_FILE

SOURCE = "https://docs.aws.amazon.com/vpc/latest/privatelink/aws-services-privatelink-support.html"


def service_names() -> list[str]:
    """Last parts of the names of all interface endpoint services of AWS, sorted."""
    known = ec2.InterfaceVpcEndpointAwsService
    members = [name for name in dir(known) if name.isupper() and not name.startswith("_")]
    return sorted({getattr(known, name).short_name for name in members})


if __name__ == "__main__":
    document = {
        "as_of": datetime.now(UTC).date().isoformat(),
        "source": SOURCE,
        "note": "as aws-cdk-lib lists them; a service that is younger is warned about, not refused",
        "services": service_names(),
    }
    SERVICES_FILE.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")

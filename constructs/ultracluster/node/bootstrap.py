"""`python3 bootstrap.py URL SHA256 DESTINATION`: bring the programs onto a node at its first boot, or give the node up.

User data carries this file, without comments, and has 16 KB for everything. So it stands alone and is small: of the
metadata service, of signatures and of life-cycle hooks it knows what it needs itself, and no more.

The file is there whole, executable and with the pinned digest, or not at all; an image that has it is left alone. Where
it cannot be had, one line says why: on the console, in the boot log and, where the image has the agent, in the logs of
the fleet. Then the launch is abandoned: a node that waits for its hook to time out is paid for half an hour.
"""

from __future__ import annotations

import hashlib
import hmac
import http.client
import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from pathlib import Path

ROOT = os.environ.get("ULTRACLUSTER_ROOT", "")
IMDS = os.environ.get("ULTRACLUSTER_IMDS", "http://169.254.169.254")
PAUSES_S = (2, 5, 10, 20, 30)  # credentials of the role and routes can be late on a node that has just started
FLUSH_S = 20  # the agent carries the line away meanwhile
DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # no proxy knows the metadata service
AGENT = "/opt/aws/amazon-cloudwatch-agent/bin/amazon-cloudwatch-agent-ctl"


def ask(method: str, url: str, headers: dict[str, str], body: bytes = b"") -> bytes:
    """One request; OSError or HTTPException when it is not answered with success."""
    request = urllib.request.Request(url, data=body or None, headers=headers, method=method)
    try:
        with DIRECT.open(request, timeout=20) as answer:
            data: bytes = answer.read()
            return data
    except urllib.error.HTTPError as error:
        said = " ".join(error.read(300).decode(errors="replace").split())
        raise OSError(f"{url}: status {error.code} {said}") from None
    except urllib.error.URLError as error:
        raise OSError(f"{url}: {error.reason}") from None


def metadata(path: str) -> str:
    """A value of the instance."""
    token = ask("PUT", f"{IMDS}/latest/api/token", {"X-aws-ec2-metadata-token-ttl-seconds": "60"}).decode()
    return ask("GET", f"{IMDS}/latest/meta-data/{path}", {"X-aws-ec2-metadata-token": token}).decode()


def call(method: str, service: str, path: str, body: bytes = b"") -> bytes:
    """A signed request to a service in the Region of the node."""
    region = metadata("placement/region")
    folder = "iam/security-credentials/"
    keys = json.loads(metadata(folder + metadata(folder).split()[0]))
    if "Token" not in keys:
        raise OSError(f"the role gives no credentials: {keys.get('Message')}")
    address = os.environ.get("AWS_ENDPOINT_URL", "").rstrip("/")
    address = address or f"https://{service}.{region}.{metadata('services/domain')}"
    moment = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    digest = hashlib.sha256(body).hexdigest()
    headers = {
        "host": urllib.parse.urlsplit(address).netloc,
        "x-amz-content-sha256": digest,
        "x-amz-date": moment,
        "x-amz-security-token": keys["Token"],
    }
    names = ";".join(headers)
    lines = [method, path, "", *(f"{name}:{value}" for name, value in headers.items()), "", names, digest]
    scope = f"{moment[:8]}/{region}/{service}/aws4_request"
    whole = hashlib.sha256("\n".join(lines).encode()).hexdigest()
    key = ("AWS4" + keys["SecretAccessKey"]).encode()
    for word in (*scope.split("/"), f"AWS4-HMAC-SHA256\n{moment}\n{scope}\n{whole}"):
        key = hmac.new(key, word.encode(), hashlib.sha256).digest()
    headers["authorization"] = (
        f"AWS4-HMAC-SHA256 Credential={keys['AccessKeyId']}/{scope}, SignedHeaders={names}, Signature={key.hex()}"
    )
    return ask(method, address + path, headers, body)


def install(url: str, sha256: str, destination: Path) -> None:
    """Fetch `s3://bucket/key` unless it is there; ValueError when it is something else, else as `ask`."""
    if destination.exists() and hashlib.sha256(destination.read_bytes()).hexdigest() == sha256:
        return
    data = call("GET", "s3", "/" + url.split("//")[1])
    found = hashlib.sha256(data).hexdigest()
    if found != sha256:
        raise ValueError(f"{url} has the SHA-256 {found}, not {sha256}")
    part = destination.with_name(destination.name + ".part")
    part.write_bytes(data)
    part.chmod(0o755)
    part.replace(destination)


def tell(why: str) -> None:
    """One line, wherever somebody may look for it."""
    line = f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} ultracluster: FAILED at fetch: {why}"
    print(line, file=sys.stderr)
    log = Path(f"{ROOT}/var/log/ultracluster/bootstrap.log")
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("a") as file:
        file.write(line + "\n")
    agent = Path(ROOT + AGENT)
    if agent.exists():
        start = ["-a", "fetch-config", "-m", "ec2", "-s", "-c", f"file:{ROOT}/opt/ultracluster/agent.json"]
        subprocess.run([agent, *start], stdout=subprocess.DEVNULL, check=False)
        time.sleep(FLUSH_S)


def abandon() -> None:
    """Let the group replace the node."""
    settings = json.loads(Path(f"{ROOT}/etc/ultracluster/node.json").read_text())
    if settings["launch_hook"]:
        action = {
            "Action": "CompleteLifecycleAction",
            "Version": "2011-01-01",
            "AutoScalingGroupName": settings["group"],
            "LifecycleHookName": settings["launch_hook"],
            "LifecycleActionResult": "ABANDON",
            "InstanceId": metadata("instance-id"),
        }
        call("POST", "autoscaling", "/", urllib.parse.urlencode(action).encode())


def patiently(action: Callable[[], None]) -> str:
    """Why an action fails, after some attempts; empty once it is done."""
    why = ""
    for pause in (0, *PAUSES_S):
        time.sleep(pause)
        why = ""
        try:
            action()
            break
        except (OSError, http.client.HTTPException) as error:
            why = str(error) or type(error).__name__
        except ValueError as error:  # another attempt would bring the same
            why = str(error)
            break
    return why


def main(url: str, sha256: str, destination: str) -> int:
    """Install; the node is given up when that cannot be done."""
    why = patiently(lambda: install(url, sha256, Path(ROOT + destination)))
    if why:
        tell(why)
        late = patiently(abandon)
        print(f"ultracluster: {f'hook not completed: {late}' if late else 'launch abandoned'}", file=sys.stderr)
    return 1 if why else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

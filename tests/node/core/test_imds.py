"""The metadata client against a service with AWS's semantics, well and ill."""

from __future__ import annotations

import socket
import threading

import pytest

from support.imds_server import ACCESS_KEY, Faults, ImdsServer
from ultracluster.node.imds import TOKEN_S, Imds, ImdsError


def client(service: ImdsServer, **changes) -> Imds:
    return Imds(service.url, **{"sleep": lambda _: None, "timeout_s": 1.0} | changes)


def asked(service: ImdsServer) -> list[tuple[str, int]]:
    return [(f"{request.method} {request.path}", request.status) for request in service.requests]


def test_values_absent_ones_and_folders(service):
    imds = client(service)
    assert imds.get("instance-type") == "p5.48xlarge"
    assert imds.get("spot/instance-action") is None
    assert imds.get("/latest/meta-data/placement/") == "availability-zone\nregion"
    assert imds.region() == "us-west-2"
    assert imds.credentials()["AccessKeyId"] == ACCESS_KEY
    with pytest.raises(ImdsError, match="the metadata service has no spot/instance-action"):
        imds.require("spot/instance-action")


def test_one_token_and_one_connection_serve_many_requests(service):
    imds = client(service)
    for _ in range(50):
        imds.get("instance-id")
    assert [line for line, _ in asked(service)].count("PUT /latest/api/token") == 1
    assert len(threading.enumerate()) < 10


def test_the_token_is_renewed_before_it_ends(service):
    now = [0.0]
    imds = client(service, clock=lambda: now[0])
    imds.get("instance-id")
    now[0] += TOKEN_S / 2 + 1
    imds.get("instance-id")
    assert [status for line, status in asked(service) if line.startswith("PUT")] == [200, 200]
    assert 401 not in [status for _, status in asked(service)]


def test_a_token_that_ended_early_is_replaced_at_once(service):
    slept: list[float] = []
    imds = client(service, sleep=slept.append)
    imds.get("instance-id")
    service.expire_tokens()
    assert imds.get("instance-id") == "i-0123456789abcdef0"
    assert [status for _, status in asked(service)] == [200, 200, 401, 200, 200]
    assert slept == [], "no pause: the service is well"


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_service_that_stumbles_is_asked_again_with_longer_pauses(service, status):
    slept: list[float] = []
    service.faults = Faults(status=status, times=3)
    assert client(service, sleep=slept.append).get("instance-id") == "i-0123456789abcdef0"
    assert slept == [0.2, 0.4, 0.8]


def test_a_service_that_stays_ill_is_one_line(service):
    service.faults = Faults(status=503)
    with pytest.raises(ImdsError, match=r"gives no answer to /latest/meta-data/instance-id \(status 503\)"):
        client(service, attempts=3).get("instance-id")
    assert len(service.requests) == 3


def test_a_service_that_hangs_costs_its_time_out_and_no_more(service):
    service.faults = Faults(slow_s=5)
    with pytest.raises(ImdsError, match="timed out"):
        client(service, attempts=2, timeout_s=0.2).get("instance-id")


def test_a_service_that_is_switched_off_is_not_asked_again(service):
    service.faults = Faults(disabled=True)
    with pytest.raises(ImdsError, match="switched off for this instance"):
        client(service).get("instance-id")
    assert len(service.requests) == 1


def test_no_service_at_all():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{unused.getsockname()[1]}"
    with pytest.raises(ImdsError, match="refused"):
        Imds(address, attempts=2, sleep=lambda _: None).get("instance-id")


def test_a_restart_of_the_service_costs_nothing(service):
    imds = client(service)
    imds.get("instance-id")
    service.faults = Faults(down=True, times=1)
    assert imds.get("instance-id") == "i-0123456789abcdef0"


def test_answers_that_close_the_connection_or_come_in_pieces():
    def answer(link: socket.socket, text: bytes) -> None:
        link.recv(4096)
        for part in (text[:7], text[7:30], text[30:]):
            link.sendall(part)
        link.close()

    with socket.create_server(("127.0.0.1", 0)) as server:
        imds = Imds(f"http://127.0.0.1:{server.getsockname()[1]}", attempts=1)

        def serve() -> None:
            for body in (b"token", b"p5.48xlarge"):
                link, _ = server.accept()
                answer(link, b"HTTP/1.0 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
            link, _ = server.accept()
            answer(link, b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\ncut off here")

        thread = threading.Thread(target=serve)
        thread.start()
        assert imds.get("instance-type") == "p5.48xlarge"
        with pytest.raises(ImdsError, match="closed within the answer"):
            imds.get("instance-type")
        thread.join()


class TestTheServiceOfTheTests:
    """It has to behave as AWS's, or the tests above prove nothing."""

    def exchange(self, service: ImdsServer, method: str, path: str, **headers: str) -> tuple[int, str]:
        import http.client

        link = http.client.HTTPConnection("127.0.0.1", service.port)
        named = {f"X-{name.replace('_', '-')}": value for name, value in headers.items()}
        link.request(method, path, headers=named)
        answer = link.getresponse()
        found = answer.status, answer.read().decode()
        link.close()
        return found

    @pytest.mark.parametrize(
        ("ttl", "status"), [("1", 200), ("21600", 200), ("0", 400), ("21601", 400), ("-1", 400), ("x", 400)]
    )
    def test_the_life_of_a_token_has_bounds(self, service, ttl, status):
        found, _ = self.exchange(service, "PUT", "/latest/api/token", aws_ec2_metadata_token_ttl_seconds=ttl)
        assert found == status

    def test_no_token_a_wrong_one_and_one_that_went_through_a_proxy(self, service):
        path = "/latest/meta-data/instance-id"
        assert self.exchange(service, "GET", path)[0] == 401
        assert self.exchange(service, "GET", path, aws_ec2_metadata_token="x")[0] == 401
        ttl = {"aws_ec2_metadata_token_ttl_seconds": "60"}
        assert self.exchange(service, "PUT", "/latest/api/token")[0] == 400
        assert self.exchange(service, "PUT", "/latest/api/token", Forwarded_For="10.0.0.1", **ttl)[0] == 403
        token = self.exchange(service, "PUT", "/latest/api/token", **ttl)[1]
        assert self.exchange(service, "GET", path, aws_ec2_metadata_token=token) == (200, "i-0123456789abcdef0")
        listing = self.exchange(service, "GET", "/2021-03-23/meta-data/", aws_ec2_metadata_token=token)[1]
        assert {"iam/", "instance-id", "placement/"} <= set(listing.split())

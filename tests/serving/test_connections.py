"""How many connections one address may have."""

import os
import socket
from collections.abc import Iterator, Sequence
from contextlib import ExitStack

import pytest

from memoryhub.serving.connections import group_of
from tests.api.server import Server, served
from tests.serving.clients import Desk
from tests.support.patience import wait_until

MOST = 20
PROXY, CROWD, NEIGHBOUR = "127.0.0.2", "127.0.0.3", "127.0.0.4"


@pytest.fixture(scope="module")
def limited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A hub that lets one address have MOST connections to a worker, behind a proxy at PROXY."""
    with served(
        tmp_path_factory.mktemp("limited"), MEMORYHUB_CONNECTIONS_BY_ADDRESS=str(MOST), TRUSTED_PROXIES=f"{PROXY},::1"
    ) as running:
        yield running


def connections(stack: ExitStack, server: Server, source: str, count: int) -> list[socket.socket]:
    """Idle connections that come from an address."""
    return [
        stack.enter_context(socket.create_connection(("127.0.0.1", server.port), 30, source_address=(source, 0)))
        for _ in range(count)
    ]


def still_open(sockets: Sequence[socket.socket]) -> int:
    """How many of these the server has not closed."""
    count = 0
    for one in sockets:
        one.setblocking(False)
        try:
            count += one.recv(1, socket.MSG_PEEK) != b""
        except BlockingIOError:
            count += 1
        except OSError:
            continue
    return count


def workers(server: Server) -> int:
    return (os.cpu_count() or 1) if server.environment["DATABASE_URL"] else 1


def test_an_address_has_no_more_connections_than_it_may_and_neither_its_neighbour_nor_a_proxy_loses_one(
    limited: Server,
) -> None:
    with ExitStack() as stack:
        proxied = connections(stack, limited, PROXY, 4 * MOST * workers(limited))
        neighbours = connections(stack, limited, NEIGHBOUR, 3)
        crowd = connections(stack, limited, CROWD, 3 * MOST * workers(limited))
        wait_until(lambda: still_open(crowd) <= MOST * workers(limited))
        assert still_open(crowd) > 0
        assert (still_open(neighbours), still_open(proxied)) == (len(neighbours), len(proxied))
        proxied[0].setblocking(True)
        proxied[0].sendall(b"GET /livez HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert proxied[0].recv(4096).startswith(b"HTTP/1.1 200 ")


def test_of_too_many_connections_of_an_address_the_idle_ones_are_closed_and_not_one_whose_body_is_read(
    limited: Server,
) -> None:
    desk = Desk(limited, *limited.new_store())
    with ExitStack() as stack:
        (busy,) = connections(stack, limited, CROWD, 1)
        busy.sendall(desk.head(desk.tool_calls, "Content-Length: 1000") + b"{")
        crowd = connections(stack, limited, CROWD, 3 * MOST * workers(limited))
        wait_until(lambda: still_open(crowd) < MOST * workers(limited))
        assert still_open([busy]) == 1


@pytest.mark.parametrize(
    ("address", "group"),
    [
        ("203.0.113.9", "203.0.113.9"), ("::ffff:203.0.113.9", "203.0.113.9"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"), ("fe80::1%eth0", "fe80::/64"),
        ("10.1.2.3", None), ("::ffff:10.1.2.3", None), ("2001:db8::1", None), ("2001:db8::2", "2001:db8::/64"),
    ],
)  # fmt: skip
def test_connections_are_counted_by_address_or_network_and_those_of_a_trusted_proxy_are_not(
    address: str, group: str | None
) -> None:
    assert group_of(address, ["10.0.0.0/8", "2001:db8::1"]) == group

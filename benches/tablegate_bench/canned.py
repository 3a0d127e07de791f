"""A Table service that holds one table and replays its pages from memory: no store is behind it that could be slow.

`canned.py ENTITIES` prints its port and serves until its standard input ends.
"""

import asyncio
import json
import sys
from functools import lru_cache
from urllib.parse import parse_qs, urlsplit

PAGE = 1000
PER_PARTITION = 1000
TYPES = {"amount": "Edm.Int64", "made": "Edm.DateTime", "code": "Edm.Guid"}


def entity(n: int) -> dict:
    made = f"2024-05-06T07:{n // 60 % 60:02}:{n % 60:02}.1234567Z"
    return {
        "PartitionKey": f"{n // PER_PARTITION:06}",
        "RowKey": f"{n % PER_PARTITION:06}",
        "Timestamp": made,
        "quantity": n % 1000,
        "amount": str(n * 7_000_003),
        "price": n % 100_000 / 100,
        "weight": n / 7,
        "flag": n % 3 == 0,
        "category": f"category {n % 50}",
        "note": f"note {n} of forty or so characters in all",
        "made": made,
        "code": f"6f1ed002-ab5d-4d4c-9a5e-{n:012x}",
        "level": n % 7,
    }


@lru_cache(maxsize=None)
def page(number: int, select: str) -> bytes:
    names = select.split(",") if select else None
    values = []
    for n in range(number * PAGE, (number + 1) * PAGE):
        whole = entity(n)
        shown = {}
        for name in names or whole:
            if name in TYPES:
                shown[f"{name}@odata.type"] = TYPES[name]
            if name in whole:
                shown[name] = whole[name]
        if not names or "Timestamp" in names:
            shown = {"odata.etag": f"W/\"datetime'{whole['Timestamp']}'\"", **shown}
        values.append(shown)
    return json.dumps({"odata.metadata": "http://127.0.0.1/", "value": values}, separators=(",", ":")).encode()


class Service(asyncio.Protocol):
    pages = 0

    def connection_made(self, transport):
        self.transport, self.unread = transport, b""

    def data_received(self, data):
        # Requests are GETs: they have no body, and the next one comes behind the answer.
        self.unread += data
        while b"\r\n\r\n" in self.unread:
            head, self.unread = self.unread.split(b"\r\n\r\n", 1)
            self.answer(head.split(b" ", 2)[1].decode())

    def answer(self, target: str):
        url = urlsplit(target)
        query, path = parse_qs(url.query), url.path.split("/")[-1]
        token, status, body = "", "200 OK", b""
        if path.startswith("Tables"):
            body = b'{"value":[{"TableName":"wide"}]}'
        elif path == "wide()":
            number = int(query.get("NextPartitionKey", ["0"])[0])
            body = page(number, query.get("$select", [""])[0])
            if number + 1 < self.pages:
                token = f"x-ms-continuation-NextPartitionKey: {number + 1}\r\nx-ms-continuation-NextRowKey: 0\r\n"
        else:
            status = "404 Not Found"
            body = b'{"odata.error":{"code":"TableNotFound","message":{"lang":"en-US","value":"no such"}}}'
        head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n{token}\r\n"
        self.transport.write(head.encode() + body)


async def main():
    Service.pages = int(sys.argv[1]) // PAGE
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Service, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


asyncio.run(main())

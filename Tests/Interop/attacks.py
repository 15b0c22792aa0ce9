"""Hostile and broken clients for soak.py. Each is one visit to a server; counts refusals by reason,
and defects.
"""
import asyncio
import collections
import random
import re
import socket
import struct
import time

from assay.v1 import assay_pb2 as assay
from wire import REFUSED, frame, verify

counts = collections.Counter()
refused = collections.Counter()
defects = collections.Counter()


def expect_timeout(what, said, memory_was_requested=True):
    """Checks the answers to an unfinished frame: a DEADLINE_EXCEEDED of the connection, before
    which its request (id 1) can have been refused for lack of memory, with a time to retry after.
    """
    heard = [(head.id, head.status, head.retry_after_ms > 0) for head in said]
    closed = (0, assay.STATUS_DEADLINE_EXCEEDED, False)
    no_memory = (1, assay.STATUS_RESOURCE_EXHAUSTED, True)
    if heard != [closed] and not (memory_was_requested and heard == [no_memory, closed]):
        defects[f"{what}: {heard}"] += 1


async def answers(reader):
    """Yields all answers until the stream ends or is reset."""
    while True:
        try:
            length, head_length = struct.unpack(">II", await reader.readexactly(8))
            data = await reader.readexactly(length - 4)
        except asyncio.IncompleteReadError as end:
            if end.partial:
                defects["an answer was cut short"] += 1
            return
        except (ConnectionError, TimeoutError):
            return
        head = assay.ResponseHead.FromString(data[:head_length])
        if head.status != assay.STATUS_OK:
            reason = re.sub(r"\d+", "N", head.message) or "no message"
            refused[f"{assay.Status.Name(head.status)[7:]}: {reason}"] += 1
        if head.status == assay.STATUS_INTERNAL:
            defects[f"INTERNAL: {head.message}"] += 1
        yield head


class Attack:
    def __init__(self, port, receipts):
        self.port = port
        self.receipts = receipts

    async def connect(self, buffer=None):
        made = socket.socket()
        if buffer:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        made.setblocking(False)
        await asyncio.get_running_loop().sock_connect(made, ("127.0.0.1", self.port))
        return await asyncio.open_connection(sock=made)

    # Each method is one visit, repeated until the soak test ends.

    async def garbage(self):
        """Bytes of another protocol, or garbage: reported, and the connection is closed."""
        if not random.randrange(6):
            return await self.http()
        reader, writer = await self.connect()
        writer.write(random.choice([
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"\0\0\0\0\0\0\0\0", b"\0\0\0\4\xff\xff\xff\xff",
            random.randbytes(random.randint(8, 4096)),
        ]))
        writer.write_eof()
        said = [head async for head in answers(reader)]
        if not said:
            counts["garbage closed without a word"] += 1
        writer.close()

    async def http(self):
        """HTTP on a port of frames: answered in HTTP, and the connection is closed."""
        reader, writer = await self.connect()
        writer.write(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        try:
            answer = await reader.read()
        except ConnectionError:
            return
        if not answer.startswith(b"HTTP/1.1 400 "):
            defects[f"HTTP: {answer[:40]}"] += 1
        writer.close()

    async def oversized(self):
        """Frame lengths out of range."""
        reader, writer = await self.connect()
        length = random.choice([1 << 31, (1 << 32) - 1, 64 << 20, (32 << 20) + 1])
        writer.write(struct.pack(">II", length, 4) + bytes(1000))
        statuses = [head.status async for head in answers(reader)]
        if statuses != [assay.STATUS_RESOURCE_EXHAUSTED]:
            defects[f"an oversized frame: {statuses}"] += 1
        writer.close()

    async def pipelined(self):
        """Many requests in one write, some with an invalid head: each is answered once."""
        reader, writer = await self.connect()
        ids = random.sample(range(1, 1 << 40), 200)
        stream = b""
        for id in ids:
            if id % 3 == 0:
                stream += frame(assay.RequestHead(id=id, ping={}))
            elif id % 3 == 1:
                stream += frame(*verify(id, assay.EVIDENCE_KIND_TRANSACTION, b"a.b.c"))
            else:
                stream += frame(assay.RequestHead(id=id))
        writer.write(stream)
        writer.write_eof()
        answered = [head.id async for head in answers(reader)]
        if sorted(answered) != sorted(ids):
            defects[f"{len(set(ids) - set(answered))} pipelined requests unanswered"] += 1
        writer.close()

    async def half_open(self):
        """A frame that never ends: closed by the server's timer."""
        reader, writer = await self.connect()
        head, body = verify(1, assay.EVIDENCE_KIND_APP_RECEIPT, bytes(1 << 20))
        count = random.choice([3, 8, 20, 5000])
        writer.write(frame(head, body)[:count])
        said = [head async for head in answers(reader)]
        expect_timeout("a frame that never ended", said, count >= 8 + head.ByteSize())
        writer.close()

    async def slow_writer(self):
        """Sends one byte per second."""
        reader, writer = await self.connect()
        data = frame(*verify(1, assay.EVIDENCE_KIND_TRANSACTION, bytes(8000)))
        said = asyncio.ensure_future(all_of(reader))
        for byte in data:
            if said.done():
                break
            writer.write(bytes([byte]))
            await asyncio.sleep(1)
        expect_timeout("a slow writer", await said)
        writer.close()

    async def slow_reader(self):
        """Requests many answers, and reads one byte per second until the connection is closed."""
        reader, writer = await self.connect(buffer=4096)
        writer.transport.pause_reading()
        made = writer.get_extra_info("socket")
        writer.write(b"".join(
            frame(assay.RequestHead(id=id, info={})) for id in range(1, 500)))
        loop = asyncio.get_running_loop()
        until = loop.time() + 20
        while loop.time() < until:
            await asyncio.sleep(1)
            try:
                if not made._sock.recv(1):
                    break
            except BlockingIOError:
                continue
            except OSError:
                break
        writer.transport.abort()

    async def midway(self):
        """Disconnects inside a frame, by a reset or by an end."""
        reader, writer = await self.connect()
        receipt = random.choice(self.receipts)[0]
        data = frame(*verify(1, assay.EVIDENCE_KIND_APP_RECEIPT, receipt))
        writer.write(data[:random.randrange(len(data))])
        if random.random() < 0.5:
            await asyncio.sleep(random.random() / 10)
            writer.transport.abort()
            return
        writer.write_eof()
        async for head in answers(reader):
            if head.verification.verdict:
                defects["a verdict on half a receipt"] += 1
        writer.close()

    async def receipt(self):
        """A receipt of megabytes, genuine or not, in chunks of random size."""
        reader, writer = await self.connect()
        receipt, expected = random.choice(self.receipts)
        data = frame(*verify(
            7, assay.EVIDENCE_KIND_APP_RECEIPT, receipt,
            in_app=assay.IN_APP_SELECTION_NONE))
        try:
            while data:
                count = random.randint(1, 256 << 10)
                writer.write(data[:count])
                data = data[count:]
                await writer.drain()
            writer.write_eof()
        except ConnectionError:
            pass  # refused before its end, or lost: the answer shows which
        said = [head async for head in answers(reader)]
        if len(said) != 1:
            defects[f"{len(said)} answers to a receipt"] += 1
        elif said[0].status == assay.STATUS_OK:
            verdict = assay.Verdict.Name(said[0].verification.verdict)
            if verdict != "VERDICT_" + expected:
                defects[f"a receipt: {verdict}, not {expected}"] += 1
        elif said[0].status not in REFUSED:
            defects[f"a receipt: {said[0].message}"] += 1
        writer.close()


async def all_of(reader):
    return [head async for head in answers(reader)]


# The number of each kind, and the pause between visits in seconds: more than a hundred
# connections, most of which stall, and more than a hundred visits per second.
ATTACKERS = {
    "garbage": (2, 0.05), "oversized": (2, 0.1), "pipelined": (2, 0.2), "half_open": (60, 0.5),
    "slow_writer": (60, 0.5), "slow_reader": (20, 0.5), "midway": (2, 0.2), "receipt": (2, 0.3),
}


async def visits(attack, name, pause, until):
    await asyncio.sleep(random.random() * pause)
    while time.monotonic() < until:
        try:
            await asyncio.wait_for(getattr(attack, name)(), 60)
            counts[name] += 1
        except TimeoutError:
            defects[f"{name}: nothing came for a minute"] += 1
        except ConnectionError as error:
            counts[f"{name}: {type(error).__name__}"] += 1
        await asyncio.sleep(pause * (0.5 + random.random()))

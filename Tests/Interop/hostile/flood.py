"""Many hostile connections of one process.

A generator controls each connection: it yields bytes to send, or a number of seconds to wait. When
it returns, or the server closes the connection, the connection is closed and a new one restarts it.
`HOLD` keeps the connection until the server closes it.
"""
import heapq
import selectors
import socket
import time

HOLD = 1 << 30
# The pause between a connection's end and the next connection.
PAUSE_SECONDS = 0.05
SENDS_PER_TURN = 16


def dial(address, receive_buffer=None):
    """Returns a connected non-blocking socket, or None if the server does not accept."""
    made = socket.socket(socket.AF_UNIX if "/" in address else socket.AF_INET)
    if receive_buffer:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    made.settimeout(2)
    try:
        if "/" in address:
            made.connect(address)
        else:
            host, port = address.rsplit(":", 1)
            made.connect((host, int(port)))
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    except OSError:
        made.close()
        return None
    made.setblocking(False)
    return made


class Peer:
    """One hostile connection."""

    def __init__(self, flood, index):
        self.flood, self.index = flood, index
        self.socket = None
        self.pending = memoryview(b"")
        self.interest = 0

    def begin(self):
        self.end()
        self.socket = dial(self.flood.address, self.flood.receive_buffer)
        if self.socket is None:
            self.flood.wake(self, PAUSE_SECONDS)
            return
        self.flood.counts["connections"] += 1
        self.script = self.flood.script(self.index)
        self.advance()

    def end(self):
        if self.interest:
            self.flood.selector.unregister(self.socket)
            self.interest = 0
        if self.socket is not None:
            self.socket.close()
        self.socket = None
        self.pending = memoryview(b"")

    def restart(self):
        self.end()
        self.flood.wake(self, PAUSE_SECONDS)

    def advance(self):
        """Sends until the socket is full, the script waits, or the turn is over."""
        for _ in range(SENDS_PER_TURN):
            if self.pending:
                try:
                    count = self.socket.send(self.pending)
                except BlockingIOError:
                    return self.listen(selectors.EVENT_WRITE)
                except OSError:
                    return self.restart()
                self.flood.counts["bytes"] += count
                self.pending = self.pending[count:]
                continue
            step = next(self.script, None)
            if step is None:
                return self.restart()
            if isinstance(step, (int, float)):
                if step < HOLD:
                    self.flood.wake(self, step)
                return self.listen(0)
            self.pending = memoryview(step)
        self.listen(selectors.EVENT_WRITE)

    def listen(self, interest):
        """Waits for space to write, and for answers if they are read."""
        if self.flood.reads:
            interest |= selectors.EVENT_READ
        if interest == self.interest:
            return
        if not interest:
            self.flood.selector.unregister(self.socket)
        elif self.interest:
            self.flood.selector.modify(self.socket, interest, self)
        else:
            self.flood.selector.register(self.socket, interest, self)
        self.interest = interest

    def receive(self):
        try:
            data = self.socket.recv(1 << 18)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        self.flood.counts["received"] += len(data)
        if not data:
            self.restart()


class Flood:
    """
    script: makes the generator of a connection from its number
    reads: whether to read answers and notice the end of the stream
    receive_buffer: the size of the socket's buffer; the minimum leaves answers at the server
    opened_per_second: new connections, so that a flood of them is not what is measured
    """

    def __init__(self, address, count, script, reads=True, receive_buffer=None,
                 opened_per_second=2000):
        self.address, self.script, self.reads = address, script, reads
        self.receive_buffer = receive_buffer
        self.selector = selectors.DefaultSelector()
        self.counts = dict.fromkeys(["connections", "bytes", "received"], 0)
        self.timers = []
        self.woken = 0
        for index in range(count):
            self.wake(Peer(self, index), index / opened_per_second)

    def wake(self, peer, seconds):
        self.woken += 1
        heapq.heappush(
            self.timers, (time.monotonic() + seconds, self.woken, peer, peer.socket))

    def run(self, is_over):
        """Runs until is_over(); returns the counts."""
        while not is_over():
            now = time.monotonic()
            while self.timers and self.timers[0][0] <= now:
                _, _, peer, made = heapq.heappop(self.timers)
                if peer.socket is None:
                    peer.begin()
                elif peer.socket is made:
                    peer.advance()
            wait = min(0.1, max(0, self.timers[0][0] - now)) if self.timers else 0.1
            for key, events in self.selector.select(wait):
                peer = key.data
                if events & selectors.EVENT_READ:
                    peer.receive()
                if events & selectors.EVENT_WRITE and peer.socket is not None:
                    peer.advance()
        return self.counts

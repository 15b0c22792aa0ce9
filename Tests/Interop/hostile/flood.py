"""Many hostile connections of one process.

A generator controls each connection: it yields bytes to send, or a number of seconds to wait. When
it returns, or the server closes the connection, the connection is closed and a new one restarts it.
`HOLD` keeps the connection until the server closes it.
"""
import heapq
import selectors
import socket
import ssl
import time

HOLD = 1 << 30
# The pause between a connection's end and the next connection.
PAUSE_SECONDS = 0.05
SENDS_PER_TURN = 16


# A socket that does not block has no space, or no data, for TLS.
TLS_WAITS = (ssl.SSLWantReadError, ssl.SSLWantWriteError)


def tls(protocol=None):
    """A client of TLS that accepts any certificate.

    protocol: the one that it offers by ALPN, "h2" or "http/1.1"; frames have none
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if protocol:
        context.set_alpn_protocols([protocol])
    return context


# Attackers that are another host than the honest clients connect from this address of the loopback.
OTHER_HOST = "127.0.0.2"


def connect(address, receive_buffer=None, context=None, source=None):
    """Returns a connected socket with a timeout of two seconds; throws OSError.

    context: that of TLS
    source: the address that it comes from
    """
    made = socket.socket(socket.AF_UNIX if "/" in address else socket.AF_INET)
    try:
        if receive_buffer:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        made.settimeout(2)
        if "/" in address:
            made.connect(address)
            return made
        if source:
            # The port is chosen when the other end is known, so that ports can be used twice.
            made.setsockopt(socket.IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1)
            made.bind((source, 0))
        host, port = address.rsplit(":", 1)
        made.connect((host, int(port)))
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return context.wrap_socket(made) if context else made
    except OSError:
        made.close()
        raise


# Linux's, which Python does not name.
IP_BIND_ADDRESS_NO_PORT = 24


def dial(address, receive_buffer=None, context=None, source=None):
    """As `connect`, but the socket does not block; returns None if the server does not accept."""
    try:
        made = connect(address, receive_buffer, context, source)
    except OSError:
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
        self.socket = dial(self.flood.address, self.flood.receive_buffer, self.flood.tls,
                           self.flood.source)
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
                except (BlockingIOError, *TLS_WAITS):
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
        while True:
            try:
                data = self.socket.recv(1 << 18)
            except (BlockingIOError, *TLS_WAITS):
                return
            except OSError:
                data = b""
            self.flood.counts["received"] += len(data)
            if not data:
                return self.restart()
            # Of TLS, the selector does not see records that were read.
            if not self.flood.tls:
                return


class Flood:
    """
    script: makes the generator of a connection from its number
    reads: whether to read answers and notice the end of the stream
    receive_buffer: the size of the socket's buffer; the minimum leaves answers at the server
    opened_per_second: new connections, so that a flood of them is not what is measured
    tls: the context of TLS, if the server's listener has it
    source: the address that connections come from
    """

    def __init__(self, address, count, script, reads=True, receive_buffer=None,
                 opened_per_second=2000, tls=None, source=None):
        self.address, self.script, self.reads = address, script, reads
        self.receive_buffer, self.tls, self.source = receive_buffer, tls, source
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

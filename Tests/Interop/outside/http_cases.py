"""Requests of HTTP/1.1 that two parsers can read differently, with the answers that RFC 9112 asks.

Each request is followed by a probe, GET /probe, on the same connection. Its status is 404. A server
that reads one request where another reads two answers the probe more often, or less often, than
the row says. Tests/AssayServerTests/HTTPParserTests.swift has more rows, which are not repeated
here: conflicting lengths, folded fields, bare CR and LF, versions, and sizes of chunks.
"""
import socket

PROBE = b"GET /probe HTTP/1.1\r\nHost: localhost\r\n\r\n"
SMUGGLED = b"GET /smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n"
OK, PROBED, REFUSED = 200, 404, 400
# The answers to a request that is read, and to the probe behind it.
READ = [OK, PROBED]


def get(fields=b"", line=b"GET /v1/health HTTP/1.1"):
    return line + b"\r\nHost: localhost\r\n" + fields + b"\r\n"


def post(fields, body=b""):
    """A POST whose body is read to its end: any bytes get a verdict."""
    return (b"POST /v1/verify?kind=transaction HTTP/1.1\r\nHost: localhost\r\n"
            b"Content-Type: application/jose\r\n" + fields + b"\r\n" + body)


def chunked(body, fields=b""):
    return post(b"Transfer-Encoding: chunked\r\n" + fields, body)


def lengths():
    """RFC 9112, section 6.3, and RFC 9110, section 8.6."""
    sized = b"Content-Length: %d\r\n" % len(SMUGGLED)
    yield "a body with the bytes of a request", post(sized, SMUGGLED), READ
    yield "a GET with a body", get(sized) + SMUGGLED, READ
    yield "a HEAD with a body", get(sized, b"HEAD /v1/health HTTP/1.1") + SMUGGLED, READ
    yield "an OPTIONS with a body", get(sized, b"OPTIONS /v1/health HTTP/1.1") + SMUGGLED, [
        204, PROBED]
    yield "another name: an underscore", get(b"Content_Length: 42\r\n"), READ
    yield "another name: a hyphen more", get(b"Content--Length: 42\r\n"), READ
    yield "another name: a prefix", get(b"X-Content-Length: 42\r\n"), READ
    for name, value in [
            ("letters", b"5a"), ("a fraction", b"5.0"), ("an exponent", b"5e0"),
            ("an underscore", b"1_0"), ("a semicolon", b"5;"), ("a space between", b"5 5"),
            ("a comma alone", b"5,"), ("a comma first", b",5"), ("a quoted one", b'"5"'),
            ("a vertical tab", b"5\x0b"), ("a form feed", b"\x0c5"), ("NUL behind", b"5\x00"),
            ("digits of another script", "٥".encode()), ("a no-break space", b"\xa05"),
            ("octal", b"0o5"), ("2^63", b"9223372036854775808x"), ("a minus of zero", b"-0"),
            ("a comment", b"5 (five)")]:
        yield f"a length: {name}", post(b"Content-Length: " + value + b"\r\n", b"12345"), [REFUSED]
    for number in (0, 5):
        line = b"Content-Length: %d\r\n" % number
        yield f"the length {number} twice, one in upper case", post(
            line + line.upper(), b"12345"[:number]), [REFUSED]
    yield "a length with zeros first", post(b"Content-Length: 0000000000000000005\r\n", b"12345"), [
        OK, PROBED]
    yield "a length of one request less", post(
        b"Content-Length: %d\r\n" % (len(SMUGGLED) - 4), SMUGGLED[:-4]), READ


def codings():
    """RFC 9112, sections 6.1 and 7."""
    body = b"1\r\na\r\n0\r\n\r\n"
    for name, value in [
            ("a list that begins with chunked", b"chunked, identity"),
            ("chunked twice in a list", b"chunked, chunked"), ("a quoted one", b'"chunked"'),
            ("nothing", b""), ("a space within", b"chun ked"), ("a letter less", b"chunke"),
            ("a letter more", b"chunkedd"), ("NUL behind", b"chunked\x00"),
            ("NUL first", b"\x00chunked"), ("a no-break space", b"\xa0chunked"),
            ("a Kelvin sign for k", "chun\u212aed".encode()), ("a semicolon", b"chunked;"),
            ("a form feed", b"\x0cchunked"), ("a comment", b"chunked (a)"),
            ("chunked by a weight", b"chunked;q=0.5"), ("deflate", b"deflate, chunked"),
            ("compress", b"compress"), ("trailers", b"trailers")]:
        yield f"a coding: {name}", post(b"Transfer-Encoding: " + value + b"\r\n", body), [REFUSED]
        yield f"a coding beside a length: {name}", post(
            b"Transfer-Encoding: " + value + b"\r\nContent-Length: 5\r\n", body), [REFUSED]
    for name, value in [("a comma behind", b"chunked,"), ("a comma first", b", chunked")]:
        # RFC 9110, section 5.6.1.2: a recipient accepts empty elements of a list.
        yield f"a coding: {name}", post(b"Transfer-Encoding: " + value + b"\r\n", body), [
            OK, PROBED]
    yield "a coding: blanks around", post(b"Transfer-Encoding: \t chunked \t\r\n", body), [
        OK, PROBED]
    for name in [b"Transfer_Encoding", b"X-Transfer-Encoding", b"TransferEncoding", b"TE"]:
        yield f"another name: {name.decode()}", get(name + b": chunked\r\n"), READ
    for name in [b"Transfer-Encoding ", b" Transfer-Encoding", b"Transfer-Encoding\x00",
                 b"Transfer\x00-Encoding", b"Transfer-Encoding\x0b", b"Transfer-Encoding\xa0",
                 b"(Transfer-Encoding)", b'"Transfer-Encoding"', b"Transfer/Encoding",
                 b"Transfer-Encoding;", b"Transfer-Encoding=chunked,a", b"Transfer[Encoding"]:
        yield f"a name that is no token: {name!r}", post(name + b": chunked\r\n", body), [REFUSED]
    yield "chunked by HTTP/1.0", (
        b"POST /v1/health HTTP/1.0\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    ), [REFUSED]
    yield "a length, and a coding in a folded line", post(
        b"Content-Length: 5\r\nX: a\r\n Transfer-Encoding: chunked\r\n", body), [REFUSED]
    yield "a GET with chunks", get(b"Transfer-Encoding: chunked\r\n") + body, READ


def chunks():
    """RFC 9112, section 7.1."""
    whole = b"5\r\n12345\r\n0\r\n\r\n"
    inner = b"%x\r\n%s\r\n0\r\n\r\n" % (len(SMUGGLED), SMUGGLED)
    yield "chunks with the bytes of a request", chunked(inner), READ
    for name, body in [
            ("in upper case", b"A\r\n1234567890\r\n0\r\n\r\n"), ("zeros", b"05\r\n12345\r\n00\r\n\r\n"),
            ("an extension", b"5;a=b\r\n12345\r\n0\r\n\r\n"),
            ("an extension without a value", b"5;a\r\n12345\r\n0;z\r\n\r\n"),
            ("a quoted value", b'5;a="b;\\"c"\r\n12345\r\n0\r\n\r\n'),
            ("blanks around an extension", b"5 ; a = b\r\n12345\r\n0\r\n\r\n"),
            ("the bytes of a last chunk within", b"7\r\n\r\n0\r\n\r\n\r\n0\r\n\r\n"),
            ("a chunk of a byte", b"1\r\na\r\n0\r\n\r\n")]:
        yield f"chunks: {name}", chunked(body), READ
    for name, body in [
            ("an underscore", b"0_5\r\n12345\r\n0\r\n\r\n"), ("h", b"5h\r\n12345\r\n0\r\n\r\n"),
            ("a minus", b"-5\r\n12345\r\n0\r\n\r\n"), ("a minus of zero", b"-0\r\n\r\n"),
            ("0X", b"0X5\r\n12345\r\n0\r\n\r\n"), ("a tab first", b"\t5\r\n12345\r\n0\r\n\r\n"),
            ("an empty line first", b"\r\n5\r\n12345\r\n0\r\n\r\n"),
            ("NUL behind the size", b"5\x00\r\n12345\r\n0\r\n\r\n"),
            ("a vertical tab", b"5\x0b\r\n12345\r\n0\r\n\r\n"),
            ("digits of another script", "٥\r\n12345\r\n0\r\n\r\n".encode()),
            ("a size of 2^64 and 5", b"10000000000000005\r\n12345\r\n0\r\n\r\n"),
            ("a size of 2^32 and 5", b"100000005\r\n12345\r\n0\r\n\r\n"),
            ("a line feed in an extension", b"5;a\n12345\r\n0\r\n\r\n"),
            ("a line feed in a quoted value", b'5;a="\n"\r\n12345\r\n0\r\n\r\n'),
            ("a return in an extension", b"5;a\r12345\r\n0\r\n\r\n"),
            ("a return and no line feed", b"5\r12345\r\n0\r\n\r\n"),
            ("two bytes for the end of the data", b"5\r\n12345XX0\r\n\r\n"),
            ("a byte less", b"5\r\n1234\r\n0\r\n\r\n"), ("a byte more", b"5\r\n123456\r\n0\r\n\r\n"),
            ("a line feed behind the data", b"5\r\n12345\n0\r\n\r\n"),
            ("no size", b";a\r\n12345\r\n0\r\n\r\n"), ("an extension of a comma", whole[:1] + b"," +
                                                      whole[1:])]:
        yield f"chunks: {name}", chunked(body), [REFUSED]
    # Section 7.1.2: a recipient reads trailers, and can discard them.
    for name, field in [("a field", b"A: b"), ("a length", b"Content-Length: 5"),
                        ("a host", b"Host: evil"), ("a coding", b"Transfer-Encoding: chunked")]:
        yield f"trailers: {name}", chunked(b"1\r\na\r\n0\r\n" + field + b"\r\n\r\n"), READ
    yield "trailers: a line feed alone", chunked(b"1\r\na\r\n0\r\nA: b\n\r\n"), [REFUSED]
    yield "trailers: a folded field", chunked(b"1\r\na\r\n0\r\nA: b\r\n c\r\n\r\n"), [REFUSED]


def lines():
    """RFC 9112, sections 2.2, 2.3 and 3."""
    for name, line in [
            ("a space first", b" GET /v1/health HTTP/1.1"), ("a tab first", b"\tGET / HTTP/1.1"),
            ("two versions", b"GET / HTTP/1.1 HTTP/1.1"), ("a space in the target", b"GET /a b HTTP/1.1"),
            ("NUL in the target", b"GET /\x00 HTTP/1.1"), ("NUL in the method", b"G\x00T / HTTP/1.1"),
            ("bytes above 127 in the target", b"GET /\xe9 HTTP/1.1"),
            ("a fragment", b"GET /v1/health#a HTTP/1.1"), ("NUL behind", b"GET / HTTP/1.1\x00"),
            ("a vertical tab between", b"GET\x0b/\x0bHTTP/1.1"),
            ("a form feed between", b"GET\x0c/ HTTP/1.1"), ("a no-break space", b"GET\xa0/ HTTP/1.1"),
            ("a method with a colon", b"GET: / HTTP/1.1"), ("a method in quotes", b'"GET" / HTTP/1.1'),
            ("no method", b" / HTTP/1.1"), ("HTTP/0.9", b"GET /v1/health"),
            ("a version of two digits", b"GET / HTTP/01.1"), ("a version and a letter", b"GET / HTTP/1.1a"),
            ("a version with a comma", b"GET / HTTP/1,1"), ("a version without a minor", b"GET / HTTP/1"),
            ("another protocol", b"GET / ICAP/1.1"), ("a version in lower case", b"GET / hTTP/1.1"),
            ("a target of another scheme", b"GET ftp://localhost/ HTTP/1.1"),
            ("a target without slashes", b"GET http:localhost HTTP/1.1"),
            ("a query without a path", b"GET ?a HTTP/1.1"),
            ("an asterisk of GET", b"GET * HTTP/1.1")]:
        yield f"a line: {name}", get(line=line), [REFUSED]
    for name, line, status in [
            ("a method in lower case", b"get /v1/health HTTP/1.1", 405),
            ("a method of punctuation", b"!#$%&'*+-.^_`|~ /v1/health HTTP/1.1", 405),
            ("escapes of CR and LF", b"GET /%0d%0aGET%20/smuggled HTTP/1.1", 404),
            ("a backslash", b"GET \\v1\\health HTTP/1.1", REFUSED),
            ("dots", b"GET /v1/./health HTTP/1.1", 404), ("two slashes", b"GET //v1/health HTTP/1.1", 404),
            ("HTTP/1.9", b"GET / HTTP/1.9", 505), ("HTTP/3.0", b"GET / HTTP/3.0", 505)]:
        ends = status in (REFUSED, 505)
        yield f"a line: {name}", get(line=line), [status] if ends else [status, PROBED]
    yield "an empty line before a request", b"\r\n" + get(), READ
    yield "an empty line behind a body", post(b"Content-Length: 5\r\n", b"12345\r\n"), READ
    yield "a line feed before a request", b"\n" + get(), [REFUSED]
    yield "a letter behind a body, of the next method", post(
        b"Content-Length: 5\r\n", b"12345X"), READ
    yield "NUL behind a body", post(b"Content-Length: 5\r\n", b"12345\x00"), [OK, REFUSED]


def fields():
    """RFC 9112, sections 3.2 and 5, and RFC 9110, section 5.5."""
    for name in [b"A B", b"A\tB", b"A@", b"A(", b"A\x7f", b"\xc3\x84", b"A\r", b"{A", b"A,B"]:
        yield f"a name that is no token: {name!r}", get(name + b": b\r\n"), [REFUSED]
    for value in [b"a\x00b", b"a\rb", b"a\x01b", b"a\x1fb", b"\x08"]:
        yield f"a value that is none: {value!r}", get(b"A: " + value + b"\r\n"), [REFUSED]
    yield "a value of bytes above 127", get(b"A: \xe9\xff\r\n"), READ
    yield "a field whose value is a request", get(b"A: GET /smuggled HTTP/1.1\r\n"), READ
    yield "a pseudo-field of HTTP/2", get(b":path: /smuggled\r\n"), [REFUSED]
    yield "a field without a colon", get(b"GET /smuggled HTTP/1.1\r\n"), [REFUSED]
    yield "white space before the first field", (
        b"GET /v1/health HTTP/1.1\r\n \r\nHost: localhost\r\n\r\n"), [REFUSED]
    yield "a head that ends in line feeds", (
        b"GET /v1/health HTTP/1.1\r\nHost: localhost\n\n"), [REFUSED]
    yield "a return before the line end", (
        b"GET /v1/health HTTP/1.1\r\nHost: localhost\r\r\n\r\n"), [REFUSED]
    for name, host in [
            ("two, one with a space", b"localhost\r\nHost : localhost"), ("a comma", b"localhost,evil"),
            ("a user", b"a@localhost"), ("a path", b"localhost/a"), ("a port of letters", b"localhost:a"),
            ("NUL", b"localhost\x00evil"), ("two ports", b"localhost:1:2"), ("a space", b"local host"),
            ("a bracket", b"[::1"), ("a question mark", b"localhost?a")]:
        yield f"a host: {name}", b"GET /v1/health HTTP/1.1\r\nHost: " + host + b"\r\n\r\n", [REFUSED]


def connections():
    """RFC 9112, section 9, and RFC 9110, sections 7.8 and 10.1.1."""
    yield "close", get(b"Connection: close\r\n"), [OK]
    yield "close in a list", get(b"Connection: a, CLOSE ,b\r\n"), [OK]
    yield "keep-alive of HTTP/1.1", get(b"Connection: keep-alive\r\n"), READ
    yield "close and keep-alive", get(b"Connection: keep-alive, close\r\n"), [OK]
    yield "HTTP/1.0", get(line=b"GET /v1/health HTTP/1.0"), [OK]
    yield "a connection that names its length", get(
        b"Connection: content-length\r\nContent-Length: %d\r\n" % len(SMUGGLED)) + SMUGGLED, READ
    yield "a connection that names its coding", chunked(
        b"1\r\na\r\n0\r\n\r\n", b"Connection: transfer-encoding\r\n"), READ
    yield "an upgrade to h2c", get(
        b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n"), READ
    yield "an upgrade to websocket", get(
        b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"), READ
    yield "HTTP/2's preface behind a request", get() + b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", [OK, 505]
    yield "two requests at once", get() + get(), [OK, OK, PROBED]
    yield "an expectation that is not known", get(b"Expect: 100-continued\r\n"), [417]


PARTS = [lengths, codings, chunks, lines, fields, connections]


def answers(address, request):
    """The statuses that come for a request and the probe, until the connection ends."""
    with socket.create_connection(address, 20) as connection:
        try:
            connection.sendall(request + PROBE)
            connection.shutdown(socket.SHUT_WR)
            data = b"".join(iter(lambda: connection.recv(1 << 16), b""))
        except ConnectionResetError:
            return ["reset"]
    statuses = []
    while data:
        head, end, data = data.partition(b"\r\n\r\n")
        if not end or not head.startswith(b"HTTP/1.1 "):
            return statuses + [f"no answer: {head[:60]!r}"]
        statuses.append(int(head[9:12]))
        length = next((int(line[15:]) for line in head.lower().split(b"\r\n")
                       if line.startswith(b"content-length:")), 0)
        # The answer to HEAD has the length of what it leaves out.
        if not (request.startswith(b"HEAD ") and len(statuses) == 1):
            data = data[length:]
    return statuses


def run(suite, address):
    suite.version = "RFC 9112"
    for part in PARTS:
        for name, request, expected in part():
            found = answers(address, request)
            # 501 and 505 refuse a coding and a version, and end the connection like 400.
            if expected == [REFUSED] and len(found) == 1 and found[0] in (400, 501, 505):
                found = expected
            suite.check(f"{part.__name__}: {name}", found, expected)

import AssayBytes

/// Finds and reads the head of a request in buffered bytes (RFC 9112). It owns no bytes and does
/// no I/O. The result depends only on the bytes, not on how they arrived.
///
/// Strict where parties could disagree about the end of a request: each line ends with CR LF, no
/// field continues on the next line, a length is given once.
package struct HTTPHeadReader: Sendable {
    package var limits: HTTPLimits
    /// Bytes at the front that were scanned without finding the end of the head.
    private var scanned = 0

    package init(limits: HTTPLimits = HTTPLimits()) { self.limits = limits }

    /// Reads the head at the front of the bytes, of which later calls pass more until this
    /// returns a head.
    ///
    /// - Returns: nil if the head is incomplete.
    package mutating func next(in bytes: Span<UInt8>) throws(HTTPFault) -> HTTPHead? {
        guard bytes.count > 0 else { return nil }
        var start = 0
        // Some clients send an empty line after a body (RFC 9112, section 2.2). One is skipped.
        if bytes[0] == .carriageReturn {
            guard bytes.count > 1 else { return nil }
            guard bytes[1] == .lineFeed else { throw .bareCarriageReturn }
            start = 2
        }
        guard bytes.count > start else { return nil }
        // The bytes of another protocol never end a head, and their sender may wait.
        guard bytes[start].isToken else { throw .invalidRequestLine }
        guard let end = try endOfHead(bytes, from: start) else { return nil }
        scanned = 0
        return try HTTPHead(bytes, start..<end, limits)
    }

    /// Finds the empty line, and checks the line breaks before it.
    private mutating func endOfHead(
        _ bytes: Span<UInt8>, from start: Int
    ) throws(HTTPFault) -> Int? {
        var index = max(scanned, start + 1)
        let last = min(bytes.count, start + limits.headBytes)
        while index < last {
            let (byte, before) = (bytes[index], bytes[index - 1])
            if byte == .lineFeed {
                guard before == .carriageReturn else { throw .bareLineFeed }
                if index >= start + 3, bytes[index - 2] == .lineFeed { return index + 1 }
            } else if before == .carriageReturn {
                throw .bareCarriageReturn
            }
            index += 1
        }
        scanned = index
        guard bytes.count < start + limits.headBytes else {
            throw .headTooLarge(limit: limits.headBytes)
        }
        return nil
    }
}

extension HTTPHead {
    /// - Parameter range: the head with its last empty line; every CR in it is followed by LF, and
    ///   every LF follows a CR.
    fileprivate init(
        _ bytes: Span<UInt8>, _ range: Range<Int>, _ limits: HTTPLimits
    ) throws(HTTPFault) {
        end = range.upperBound
        var lines = HTTPLines(bytes, range)
        var facts = FieldFacts()
        try readRequestLine(bytes, lines.next(), limits, &facts)
        var count = 0
        while case let line = lines.next(), !line.isEmpty {
            count += 1
            guard count <= limits.fields else { throw .tooManyFields(limit: limits.fields) }
            try readField(bytes, line, &facts)
        }
        try finish(bytes, facts, needsHost: limits.needsHost)
    }

    /// What the fields say about the connection and the body.
    private struct FieldFacts {
        var isOldVersion = false
        /// The host and port of the target, if it has any.
        var authority: Range<Int>?
        var closes = false
        var contentLength: Int?
        var isChunked = false
    }

    private mutating func readRequestLine(
        _ bytes: Span<UInt8>, _ line: Range<Int>, _ limits: HTTPLimits, _ facts: inout FieldFacts
    ) throws(HTTPFault) {
        var index = line.lowerBound
        while index < line.upperBound, bytes[index].isToken { index += 1 }
        guard index > line.lowerBound, index < line.upperBound, bytes[index] == .space else {
            throw .invalidRequestLine
        }
        method = Method(named: bytes.extracting(line.lowerBound..<index))
        let target = index + 1
        index = target
        while index < line.upperBound, bytes[index].isTarget { index += 1 }
        guard index - target <= limits.targetBytes else {
            throw .targetTooLong(limit: limits.targetBytes)
        }
        guard index > target, index < line.upperBound, bytes[index] == .space else {
            throw .invalidRequestLine
        }
        facts.isOldVersion = try Self.isOldVersion(bytes.extracting(index + 1..<line.upperBound))
        try readTarget(bytes, target..<index, &facts)
    }

    /// Whether the version is 1.0, and not 1.1.
    private static func isOldVersion(_ version: Span<UInt8>) throws(HTTPFault) -> Bool {
        guard version.count == 8, version.begins("HTTP/"), version[6] == UInt8(ascii: "."),
            version[5].isDigit, version[7].isDigit
        else { throw .invalidRequestLine }
        guard version[5] == UInt8(ascii: "1"), version[7] <= UInt8(ascii: "1") else {
            throw .unsupportedVersion
        }
        return version[7] == UInt8(ascii: "0")
    }

    /// Reads the target: a path and a query, after a scheme and a host or without them.
    private mutating func readTarget(
        _ bytes: Span<UInt8>, _ target: Range<Int>, _ facts: inout FieldFacts
    ) throws(HTTPFault) {
        var start = target.lowerBound
        // The form of CONNECT: a host and a port, and no path.
        guard method != .connect else {
            facts.authority = target
            path = target.upperBound..<target.upperBound
            return
        }
        if let authority = Self.authority(bytes, target) {
            facts.authority = authority
            start = authority.upperBound
        } else if bytes[start] != UInt8(ascii: "/") {
            // The form of OPTIONS for a whole server; no other method has it.
            guard method == .options, target.count == 1, bytes[start] == UInt8(ascii: "*") else {
                throw .invalidRequestLine
            }
        }
        var mark = start
        while mark < target.upperBound, bytes[mark] != UInt8(ascii: "?") { mark += 1 }
        path = start..<mark
        if mark < target.upperBound { query = mark + 1..<target.upperBound }
    }

    /// The host and port of a target that begins with a scheme; nil for others.
    private static func authority(_ bytes: Span<UInt8>, _ target: Range<Int>) -> Range<Int>? {
        let text = bytes.extracting(target)
        var scheme = 0
        while scheme < text.count, text[scheme].isLetter { scheme += 1 }
        let name = text.extracting(..<scheme)
        // A scheme has no case (RFC 3986, section 3.1).
        guard name.equalsLowercase("http") || name.equalsLowercase("https"),
            text.extracting(scheme...).begins("://")
        else { return nil }
        let start = target.lowerBound + scheme + 3
        var end = start
        while end < target.upperBound, !bytes[end].endsAuthority { end += 1 }
        return start..<end
    }

    private mutating func readField(
        _ bytes: Span<UInt8>, _ line: Range<Int>, _ facts: inout FieldFacts
    ) throws(HTTPFault) {
        guard !bytes[line.lowerBound].isBlank else { throw .foldedField }
        var colon = line.lowerBound
        while colon < line.upperBound, bytes[colon].isToken { colon += 1 }
        guard colon > line.lowerBound, colon < line.upperBound, bytes[colon] == UInt8(ascii: ":")
        else { throw .invalidFieldName }
        var (start, end) = (colon + 1, line.upperBound)
        while start < end, bytes[start].isBlank { start += 1 }
        while start < end, bytes[end - 1].isBlank { end -= 1 }
        for index in start..<end where bytes[index].isControl { throw .invalidFieldValue }
        let value = bytes.extracting(start..<end)
        let name = bytes.extracting(line.lowerBound..<colon)
        guard let field = HTTPField.named(name) else { return }
        switch field {
        case .connection:
            // A list, which can be divided among several fields.
            facts.closes = facts.closes || value.hasListMember("close")
            return
        case .contentLength:
            guard facts.contentLength == nil else { throw .repeatedField(field) }
            facts.contentLength = try Self.length(value)
        case .transferEncoding:
            guard !facts.isChunked else { throw .repeatedField(field) }
            guard value.equalsLowercase("chunked") else {
                throw .unknownTransferEncoding
            }
            facts.isChunked = true
        case .expect:
            guard value.equalsLowercase("100-continue") else {
                throw .unknownExpectation
            }
            expectsContinue = true
        case .host, .contentType, .contentEncoding, .origin, .authorization, .correlationId,
            .fetchSite, .traceparent, .accept, .connectVersion, .connectTimeout, .connectEncoding,
            .grpcTimeout, .grpcEncoding:
            break
        }
        guard add(field, at: start..<end) else { throw .repeatedField(field) }
    }

    private static func length(_ text: Span<UInt8>) throws(HTTPFault) -> Int {
        // 18 digits fit 64 bits.
        guard (1...18).contains(text.count) else { throw .invalidContentLength }
        var length = 0
        for index in text.indices {
            guard text[index].isDigit else { throw .invalidContentLength }
            length = length * 10 + Int(text[index] - UInt8(ascii: "0"))
        }
        return length
    }

    private mutating func finish(
        _ bytes: Span<UInt8>, _ facts: FieldFacts, needsHost: Bool
    ) throws(HTTPFault) {
        if facts.isChunked {
            guard facts.contentLength == nil else { throw .twoLengths }
            guard !facts.isOldVersion else { throw .unknownTransferEncoding }
            body = .chunked
        } else {
            body = .length(facts.contentLength ?? 0)
        }
        isOldVersion = facts.isOldVersion
        keepsAlive = !facts.closes && !facts.isOldVersion
        // Clients of HTTP/1.0 know no interim answer.
        if facts.isOldVersion || body == .length(0) { expectsContinue = false }
        if needsHost { try checkHost(bytes, facts) }
        // The host of a target replaces Host (RFC 9112, section 3.2.2).
        if let authority = facts.authority { self[.host] = authority }
    }

    /// Checks Host, which every request of HTTP/1.1 has (RFC 9112, section 3.2), and the host of a
    /// target. Both have to be valid: another party can read either.
    private func checkHost(_ bytes: Span<UInt8>, _ facts: FieldFacts) throws(HTTPFault) {
        if let host = self[.host] {
            guard HTTPHost.isValid(bytes.extracting(host)) else { throw .invalidHost }
        } else {
            guard facts.isOldVersion else { throw .invalidHost }
        }
        guard let authority = facts.authority else { return }
        guard HTTPHost.isValid(bytes.extracting(authority)) else { throw .invalidHost }
    }
}

extension HTTPHead.Method {
    init(named name: Span<UInt8>) {
        self =
            switch name.count {
            case 3 where name.begins("GET"): .get
            case 3 where name.begins("PUT"): .put
            case 4 where name.begins("POST"): .post
            case 4 where name.begins("HEAD"): .head
            case 6 where name.begins("DELETE"): .delete
            case 7 where name.begins("OPTIONS"): .options
            case 7 where name.begins("CONNECT"): .connect
            default: .other
            }
    }
}

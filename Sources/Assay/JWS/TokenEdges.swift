import AssayModels

/// Checks and trims the edges of a compact JWS that arrived alone.
extension Span<UInt8> {
    /// The bytes without one trailing line break (LF or CRLF), as text files have it.
    var withoutLineBreak: Span<UInt8> {
        @_lifetime(copy self) get {
            guard count > 0, self[count - 1] == UInt8(ascii: "\n") else { return self }
            let hasReturn = count > 1 && self[count - 2] == UInt8(ascii: "\r")
            return extracting(0..<count - (hasReturn ? 2 : 1))
        }
    }

    /// Throws MALFORMED for a byte order mark, white space or quotes around the token, and names
    /// it.
    func checkTokenEdges() throws(Refusal) {
        guard count > 0 else { return }
        if count >= 3, self[0] == 0xEF, self[1] == 0xBB, self[2] == 0xBF {
            throw Refusal(.malformed, "a byte order mark (U+FEFF) precedes the JWS")
        }
        for (byte, place) in [(self[0], "before"), (self[count - 1], "after")] {
            if byte.isWhiteSpace {
                throw Refusal(
                    .malformed,
                    "white space \(place) the JWS; only one line break can follow it")
            }
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") {
                throw Refusal(.malformed, "a quotation mark \(place) the JWS")
            }
        }
    }
}

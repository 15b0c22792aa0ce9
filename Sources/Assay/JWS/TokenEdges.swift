/// Trims the end of a compact JWS that arrived alone.
extension Span<UInt8> {
    /// The bytes without one trailing line break (LF or CRLF), as text files have it.
    var withoutLineBreak: Span<UInt8> {
        @_lifetime(copy self) get {
            guard count > 0, self[count - 1] == UInt8(ascii: "\n") else { return self }
            let hasReturn = count > 1 && self[count - 2] == UInt8(ascii: "\r")
            return extracting(0..<count - (hasReturn ? 2 : 1))
        }
    }
}

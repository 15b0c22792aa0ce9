/// Base64url without padding (RFC 7515, appendix C), in its one canonical form: no `+`, `/`, `=`
/// or white space, no bits set after the last byte.
package enum Base64URL {
    package static func decode(_ text: Span<UInt8>) throws(Base64Error) -> [UInt8] {
        var bytes: [UInt8] = []
        try decode(text, into: &bytes)
        return bytes
    }

    /// Appends the decoded bytes; leaves `bytes` unchanged on error.
    package static func decode(
        _ text: Span<UInt8>, into bytes: inout [UInt8]
    ) throws(Base64Error) {
        try Base64Digits.url.decode(text, into: &bytes)
    }

    /// Decodes text into an output with space for the bytes. On error, the output's contents are
    /// undefined.
    ///
    /// - Precondition: the number of digits is valid for base64.
    package static func decode(
        _ text: Span<UInt8>, to output: inout OutputSpan<UInt8>
    ) -> Base64Error? {
        Base64Digits.url.decode(text, to: &output)
    }

    /// The number of bytes that `digits` digits encode.
    package static func size(_ digits: Int) -> Int { Base64Digits.size(digits) }

    package static func isDigit(_ character: UInt8) -> Bool { value(of: character) != nil }

    /// The value of a digit; nil for other characters.
    package static func value(of character: UInt8) -> UInt8? {
        Base64Digits.url.value(of: character)
    }

    package static func encode(_ bytes: Span<UInt8>) -> [UInt8] {
        Base64Digits.encode(bytes, Base64Digits.urlAlphabet)
    }
}

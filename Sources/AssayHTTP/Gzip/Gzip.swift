import CZlib

/// Decompresses gzip (RFC 1952) by zlib, into memory of a limited size.
package enum Gzip {
    /// Decompresses one member, which has to be all of the bytes.
    ///
    /// Makes no more than the end of the member states, so that a caller can count the memory
    /// before.
    ///
    /// - Parameter limit: the largest number of decompressed bytes.
    package static func decompress(
        _ bytes: Span<UInt8>, limit: Int
    ) throws(GzipError) -> [UInt8] {
        // Its end means nothing otherwise.
        guard bytes.count < 2 || bytes[0] == 0x1F && bytes[1] == 0x8B else {
            throw .invalidHeader
        }
        guard let size = statedSize(of: bytes) else {
            throw .truncated
        }
        guard size <= limit else { throw .tooLarge(limit: limit) }
        // Nothing of it is true.
        guard size / mostExpansion <= bytes.count else { throw .mismatch }
        var (outcome, left) = (Outcome.ok, 0)
        // One more than is stated shows that there is more.
        let output = unsafe [UInt8](unsafeUninitializedCapacity: size + 1) { output, count in
            unsafe (outcome, left, count) = run(bytes, into: output)
        }
        switch outcome {
        case .end where left > 0: throw .trailingBytes
        case .end where output.count == size: return output
        case .end: throw .mismatch
        case .ok: throw output.count > size ? .mismatch : .truncated
        case .failed(let error): throw error
        }
    }

    /// The number of decompressed bytes, as the end of a member states it; nil without an end.
    package static func statedSize(of bytes: Span<UInt8>) -> Int? {
        guard bytes.count >= trailerBytes else { return nil }
        return (0..<4).reduce(0) { $0 | Int(bytes[bytes.count - 4 + $1]) << (8 * $1) }
    }

    /// The checksum and the size.
    private static let trailerBytes = 8
    /// DEFLATE makes at most 258 bytes of two bits.
    private static let mostExpansion = 1_032

    private enum Outcome {
        /// The input or the output is used up.
        case ok
        case end
        case failed(GzipError)
    }

    /// Returns how it ended, the bytes of input that are left, and those of output that are filled.
    private static func run(
        _ bytes: Span<UInt8>, into output: UnsafeMutableBufferPointer<UInt8>
    ) -> (Outcome, left: Int, count: Int) {
        var stream = unsafe z_stream()
        guard unsafe assay_begin_gzip(&stream) == Z_OK else {
            return (.failed(.invalidHeader), 0, 0)
        }
        defer { unsafe inflateEnd(&stream) }
        let code = unsafe bytes.withUnsafeBufferPointer { input -> Int32 in
            // zlib reads them, and has no word for it.
            unsafe stream.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
            unsafe stream.avail_in = UInt32(input.count)
            unsafe stream.next_out = output.baseAddress
            unsafe stream.avail_out = UInt32(output.count)
            return unsafe inflate(&stream, Z_FINISH)
        }
        let outcome: Outcome =
            switch code {
            case Z_STREAM_END: .end
            case Z_OK, Z_BUF_ERROR: .ok
            default: .failed(unsafe error(stream.msg))
            }
        return unsafe (outcome, Int(stream.avail_in), output.count - Int(stream.avail_out))
    }

    /// The error for a text of zlib, which has one code for all of them.
    private static func error(_ text: UnsafePointer<CChar>?) -> GzipError {
        guard let text = unsafe text else { return .invalidBlock }
        return switch unsafe String(cString: text) {
        case "incorrect data check", "incorrect length check": .mismatch
        case "incorrect header check", "unknown compression method", "unknown header flags set",
            "header crc mismatch", "invalid window size":
            .invalidHeader
        default: .invalidBlock
        }
    }
}

/// Why bytes are not gzip, or too much of it.
package enum GzipError: Error, Equatable {
    case invalidHeader
    case truncated
    /// A block that RFC 1951 does not allow.
    case invalidBlock
    /// Another checksum or size than the end states.
    case mismatch
    case trailingBytes
    /// More decompressed bytes than the limit.
    case tooLarge(limit: Int)
}

extension GzipError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .invalidHeader: "it does not begin like gzip"
        case .truncated: "it ends early"
        case .invalidBlock: "a compressed block is invalid"
        case .mismatch: "the checksum or the size at its end is wrong"
        case .trailingBytes: "it does not end with its first member"
        case .tooLarge(let limit): "it has more than \(limit) bytes when decompressed"
        }
    }
}

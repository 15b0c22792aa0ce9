/// Decompresses gzip (RFC 1952) into memory of a limited size.
package enum Gzip {
    /// Decompresses one member, which has to be all of the bytes.
    ///
    /// - Parameter limit: the largest number of decompressed bytes.
    package static func decompress(
        _ bytes: Span<UInt8>, limit: Int
    ) throws(GzipError) -> [UInt8] {
        let start = try endOfHeader(bytes)
        // No more is made than the end states, so that a caller can count the memory before.
        guard let size = statedSize(of: bytes) else { throw .truncated }
        guard size <= limit else { throw .tooLarge(limit: limit) }
        var inflater = Inflater(at: start, limit: size)
        do throws(GzipError) { try inflater.run(bytes) } catch {
            if case .tooLarge = error { throw .mismatch }
            throw error
        }
        let end = inflater.position
        guard bytes.count == end + trailerBytes else {
            throw bytes.count < end + trailerBytes ? .truncated : .trailingBytes
        }
        let output = inflater.output
        guard number(bytes, at: end) == checksum(output.span), output.count == size else {
            throw .mismatch
        }
        return output
    }

    /// The number of decompressed bytes, as the end of a member states it; nil without an end.
    package static func statedSize(of bytes: Span<UInt8>) -> Int? {
        guard bytes.count >= trailerBytes else { return nil }
        return Int(number(bytes, at: bytes.count - 4))
    }

    /// The checksum and the size.
    private static let trailerBytes = 8

    /// Flags of optional fields, and those that RFC 1952 reserves.
    private enum Flag {
        static let headerChecksum: UInt8 = 0x02
        static let extra: UInt8 = 0x04
        static let name: UInt8 = 0x08
        static let comment: UInt8 = 0x10
        static let reserved: UInt8 = 0xE0
    }

    private static func endOfHeader(_ bytes: Span<UInt8>) throws(GzipError) -> Int {
        guard bytes.count >= 10 else { throw .truncated }
        guard bytes[0] == 0x1F, bytes[1] == 0x8B, bytes[2] == 8, bytes[3] & Flag.reserved == 0
        else { throw .invalidHeader }
        let flags = bytes[3]
        var end = 10
        if flags & Flag.extra != 0 {
            guard bytes.count >= end + 2 else { throw .truncated }
            end += 2 + Int(bytes[end]) + Int(bytes[end + 1]) << 8
        }
        for flag in [Flag.name, Flag.comment] where flags & flag != 0 {
            // Texts that end with a zero.
            while end < bytes.count, bytes[end] != 0 { end += 1 }
            end += 1
        }
        if flags & Flag.headerChecksum != 0 { end += 2 }
        guard end <= bytes.count else { throw .truncated }
        return end
    }

    private static func number(_ bytes: Span<UInt8>, at start: Int) -> UInt32 {
        (0..<4).reduce(0) { $0 | UInt32(bytes[start + $1]) << UInt32(8 * $1) }
    }

    /// CRC-32 (RFC 1952, section 8).
    private static func checksum(_ bytes: Span<UInt8>) -> UInt32 {
        var sum: UInt32 = 0xFFFF_FFFF
        for index in bytes.indices {
            sum = sums[Int(truncatingIfNeeded: (sum ^ UInt32(bytes[index])) & 0xFF)] ^ (sum >> 8)
        }
        return ~sum
    }

    private static let sums: [UInt32] = (0..<256).map { byte in
        (0..<8).reduce(UInt32(byte)) { sum, _ in (sum & 1) * 0xEDB8_8320 ^ (sum >> 1) }
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

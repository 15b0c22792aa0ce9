internal import COpenSSL

// What the standard library does over raw memory many times faster than a loop over a Span.

extension Span<UInt8> {
    /// A copy of those bytes.
    package func array(_ range: Range<Int>) -> [UInt8] {
        unsafe extracting(range).withUnsafeBufferPointer { unsafe [UInt8]($0) }
    }

    /// Eight bytes at once, the first one highest.
    @inline(__always)
    func word(at position: Int) -> UInt64 {
        unsafe withUnsafeBytes { bytes in
            precondition(position >= 0 && position <= bytes.count &- 8)
            return unsafe UInt64(
                bigEndian: bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self))
        }
    }

    /// Appends these bytes.
    @inline(__always)
    func append(to array: inout [UInt8]) {
        unsafe withUnsafeBufferPointer { unsafe array.append(contentsOf: $0) }
    }

    /// The text of bytes that are known to be UTF-8, which is not looked for again.
    @inline(__always)
    func validatedText(_ range: Range<Int>) -> String {
        let bytes = extracting(range)
        return unsafe String(copying: UTF8Span(unchecked: bytes, isKnownASCII: bytes.isASCII))
    }

    package func equals(_ other: Span<UInt8>) -> Bool {
        guard count == other.count else { return false }
        return unsafe withUnsafeBufferPointer { left in
            unsafe other.withUnsafeBufferPointer { right in
                guard let left = left.baseAddress, let right = right.baseAddress else {
                    return true
                }
                return unsafe memcmp(left, right, count) == 0
            }
        }
    }

    /// Where that byte occurs next.
    func firstIndex(of byte: UInt8, from start: Int) -> Int? {
        unsafe extracting(start..<count).withUnsafeBytes { rest in
            guard let base = rest.baseAddress,
                let found = unsafe memchr(base, Int32(byte), rest.count)
            else { return nil }
            return unsafe start + (UnsafeRawPointer(found) - base)
        }
    }

    /// SipHash under this process's random key, for tables whose keys strangers choose.
    func hash(into hasher: inout Hasher) {
        unsafe withUnsafeBytes { unsafe hasher.combine(bytes: $0) }
    }

    /// A keyed hash for tables whose keys no stranger chooses: multiply and rotate, two words at a
    /// time, a tenth of what SipHash takes.
    func quickHash(seed: UInt64) -> UInt64 {
        unsafe withUnsafeBytes { bytes in
            // Odd numbers with well mixed bits, from the fraction of the golden ratio.
            let (first, second): (UInt64, UInt64) = (0x9E37_79B9_7F4A_7C15, 0xD1B5_4A32_D192_ED03)
            var (left, right) = (seed ^ UInt64(bytes.count), seed &* first)
            var offset = 0
            while offset + 16 <= bytes.count {
                let low = unsafe bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
                let high = unsafe bytes.loadUnaligned(fromByteOffset: offset + 8, as: UInt64.self)
                left = (left ^ low) &* first
                left ^= left >> 32
                right = (right ^ high) &* second
                right ^= right >> 29
                offset += 16
            }
            while offset < bytes.count {
                left = unsafe (left ^ UInt64(bytes[offset])) &* second
                left ^= left >> 32
                offset += 1
            }
            return (left ^ (right &* first)) &* second
        }
    }
}

extension Span<UInt8> {
    /// Blocks of four base64 digits become three octets each.
    ///
    /// - Parameters:
    ///   - blocks: for each of the four places of all 256 characters what they contribute to the
    ///     three octets, the first octet lowest, and bits above where it is no digit.
    ///   - output: has room for them.
    /// - Returns: all that was met, or-ed: what is wrong is looked for once, at the end.
    func decodeBase64Blocks(
        _ values: Span<UInt32>, to output: inout OutputSpan<UInt8>
    ) -> UInt32 {
        let blocks = count / 4
        precondition(
            count == blocks * 4 && output.freeCapacity >= blocks * 3 && values.count == 4 * 256)
        return unsafe withUnsafeBufferPointer { text in
            unsafe values.withUnsafeBufferPointer { values in
                unsafe output.withUnsafeMutableBufferPointer { buffer, initialized in
                    guard blocks > 0, let text = text.baseAddress, let values = values.baseAddress,
                        let start = buffer.baseAddress
                    else { return 0 }
                    let seen = unsafe Base64Blocks.decode(
                        text, blocks, values, to: start + initialized)
                    initialized += blocks * 3
                    return seen
                }
            }
        }
    }
}

private enum Base64Blocks {
    @inline(__always)
    static func decode(
        _ text: UnsafePointer<UInt8>, _ blocks: Int, _ values: UnsafePointer<UInt32>,
        to output: UnsafeMutablePointer<UInt8>
    ) -> UInt32 {
        var (next, target) = unsafe (text, output)
        var seen: UInt32 = 0
        // Four octets are written for each block but the last: the fourth is the next one's first.
        for _ in 1..<blocks {
            let octets = unsafe block(next, values)
            seen |= octets
            unsafe UnsafeMutableRawPointer(target).storeBytes(
                of: octets.littleEndian, as: UInt32.self)
            unsafe next += 4
            unsafe target += 3
        }
        let octets = unsafe block(next, values)
        unsafe target[0] = UInt8(truncatingIfNeeded: octets)
        unsafe target[1] = UInt8(truncatingIfNeeded: octets >> 8)
        unsafe target[2] = UInt8(truncatingIfNeeded: octets >> 16)
        return seen | octets
    }

    @inline(__always)
    private static func block(
        _ text: UnsafePointer<UInt8>, _ values: UnsafePointer<UInt32>
    ) -> UInt32 {
        unsafe values[Int(text[0])] | values[256 + Int(text[1])] | values[512 + Int(text[2])]
            | values[768 + Int(text[3])]
    }
}

extension StaticString {
    /// Its UTF-8, which lives as long as the program.
    @inline(__always)
    var bytes: Span<UInt8> {
        @_lifetime(immortal)
        get {
            let bytes = unsafe UnsafeBufferPointer(start: utf8Start, count: utf8CodeUnitCount)
            return unsafe _overrideLifetime(bytes.span, copying: ())
        }
    }
}

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
        precondition(position >= 0 && position <= count &- 8)
        return unsafe withUnsafeBytes { bytes in
            unsafe UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self))
        }
    }

    /// Appends these bytes.
    @inline(__always)
    func append(to array: inout [UInt8]) {
        unsafe withUnsafeBufferPointer { unsafe array.append(contentsOf: $0) }
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

    /// Feeds a hash that is keyed by this process's random seed.
    func hash(into hasher: inout Hasher) {
        unsafe withUnsafeBytes { unsafe hasher.combine(bytes: $0) }
    }
}

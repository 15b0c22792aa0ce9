// memcmp and memchr.
public import Glibc

// Operations that raw memory access makes many times faster than a loop over a Span. The verifier
// calls them in its inner loops: `@inlinable`, so that the border of modules costs nothing.

extension Span<UInt8> {
    /// Copies a range of the bytes.
    @inlinable
    package func array(_ range: Range<Int>) -> [UInt8] {
        unsafe extracting(range).withUnsafeBufferPointer { unsafe [UInt8]($0) }
    }

    /// Loads eight bytes, big-endian.
    @inlinable @inline(__always)
    package func word(at position: Int) -> UInt64 {
        unsafe withUnsafeBytes { bytes in
            precondition(position >= 0 && position <= bytes.count &- 8)
            return unsafe UInt64(
                bigEndian: bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self))
        }
    }

    /// Returns the offset, from `start` on, of the first 32 bytes with a word that `stops` maps to
    /// anything but zero, or of the last ones that are fewer. Words are little-endian.
    @inlinable @inline(__always)
    package func skipBlocks(from start: Int, _ stops: (UInt64) -> UInt64) -> Int {
        unsafe withUnsafeBytes { bytes in
            precondition(start >= 0 && start <= bytes.count)
            var position = start
            while position &+ 32 <= bytes.count {
                var seen: UInt64 = 0
                for index in 0..<4 {
                    let word = unsafe bytes.loadUnaligned(
                        fromByteOffset: position &+ index &* 8, as: UInt64.self)
                    seen |= stops(UInt64(littleEndian: word))
                }
                if seen != 0 { break }
                position &+= 32
            }
            return position
        }
    }

    /// Copies these bytes over the array's from `start` on, or appends them when `start` is its
    /// end.
    @inlinable @inline(__always)
    package func copy(to array: inout [UInt8], at start: Int) {
        unsafe withUnsafeBufferPointer { bytes in
            guard start < array.count else { return unsafe array.append(contentsOf: bytes) }
            unsafe array.withUnsafeMutableBytes { target in
                unsafe UnsafeMutableRawBufferPointer(rebasing: target[start...]).copyMemory(
                    from: UnsafeRawBufferPointer(bytes))
            }
        }
    }

    /// Appends these bytes to an output with space for them.
    @inlinable @inline(__always)
    package func append(to output: inout OutputSpan<UInt8>) {
        precondition(count <= output.freeCapacity)
        unsafe withUnsafeBufferPointer { bytes in
            unsafe output.withUnsafeMutableBufferPointer { buffer, initialized in
                guard let source = bytes.baseAddress, let start = buffer.baseAddress else { return }
                unsafe (start + initialized).update(from: source, count: bytes.count)
                initialized &+= bytes.count
            }
        }
    }

    /// The same, fast for 8 to 32 bytes, which identifiers have: two words, or four, overlap.
    @inlinable @inline(__always)
    package func appendIdentifier(to output: inout OutputSpan<UInt8>) {
        guard count >= 8, count <= 32, count <= output.freeCapacity else {
            return append(to: &output)
        }
        unsafe withUnsafeBytes { bytes in
            unsafe output.withUnsafeMutableBufferPointer { buffer, initialized in
                guard let source = bytes.baseAddress, let start = buffer.baseAddress else { return }
                let target = unsafe UnsafeMutableRawPointer(start + initialized)
                @inline(__always)
                func copy(_ offset: Int) {
                    let word = unsafe source.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
                    unsafe target.storeBytes(of: word, toByteOffset: offset, as: UInt64.self)
                }
                copy(0)
                if bytes.count > 16 {
                    copy(8)
                    copy(bytes.count &- 16)
                }
                copy(bytes.count &- 8)
                initialized &+= bytes.count
            }
        }
    }

    /// The text of bytes that are known to be UTF-8, without another validation.
    @inlinable @inline(__always)
    package func validatedText(_ range: Range<Int>) -> String {
        validatedText(range, isASCII: extracting(range).isASCII)
    }

    /// The same of bytes of which it is known whether they are ASCII.
    @inlinable @inline(__always)
    package func validatedText(_ range: Range<Int>, isASCII: Bool) -> String {
        unsafe String(
            copying: UTF8Span(unchecked: extracting(range), isKnownASCII: isASCII))
    }

    @inlinable
    package func equals(_ other: Span<UInt8>) -> Bool {
        guard count == other.count else { return false }
        return unsafe withUnsafeBufferPointer { left in
            unsafe other.withUnsafeBufferPointer { right in
                guard let left = left.baseAddress, let right = right.baseAddress else {
                    return true
                }
                return unsafe left == right || memcmp(left, right, count) == 0
            }
        }
    }

    /// Whether both have the same size and agree in all bits that are set in the mask. At least
    /// 32 bytes.
    @inlinable @inline(__always)
    package func equals(_ other: Span<UInt8>, where mask: Span<UInt8>) -> Bool {
        guard count == other.count, count == mask.count, count >= 32 else { return false }
        return unsafe withUnsafeBytes { left in
            unsafe other.withUnsafeBytes { right in
                unsafe mask.withUnsafeBytes { mask in
                    @inline(__always)
                    func difference(_ offset: Int) -> SIMD4<UInt64> {
                        unsafe (left.baseAddress!.loadUnaligned(
                            fromByteOffset: offset, as: SIMD4<UInt64>.self)
                            ^ right.baseAddress!.loadUnaligned(
                                fromByteOffset: offset, as: SIMD4<UInt64>.self))
                            & mask.baseAddress!.loadUnaligned(
                                fromByteOffset: offset, as: SIMD4<UInt64>.self)
                    }
                    // The last block overlaps the block before it.
                    var seen = difference(left.count &- 32)
                    for block in 0..<left.count / 32 { seen |= difference(block &* 32) }
                    return seen[0] | seen[1] | seen[2] | seen[3] == 0
                }
            }
        }
    }

    /// The index of the next occurrence of a byte.
    @inlinable
    package func firstIndex(of byte: UInt8, from start: Int) -> Int? {
        unsafe extracting(start..<count).withUnsafeBytes { rest in
            guard let base = rest.baseAddress,
                let found = unsafe memchr(base, Int32(byte), rest.count)
            else { return nil }
            return unsafe start + (UnsafeRawPointer(found) - base)
        }
    }

    /// SipHash under this process's random key, for tables whose keys an attacker can choose.
    @inlinable
    package func hash(into hasher: inout Hasher) {
        unsafe withUnsafeBytes { unsafe hasher.combine(bytes: $0) }
    }

    /// A keyed hash for tables whose keys an attacker cannot choose: multiply and rotate, two
    /// words at a time. It takes a tenth of SipHash's time.
    @inlinable
    package func quickHash(seed: UInt64) -> UInt64 {
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

extension [UInt8] {
    /// Sets the bytes of a range.
    @inlinable
    package mutating func fill(_ range: Range<Int>, with byte: UInt8) {
        unsafe withUnsafeMutableBytes { bytes in
            let part = unsafe UnsafeMutableRawBufferPointer(rebasing: bytes[range])
            unsafe part.initializeMemory(as: UInt8.self, repeating: byte)
        }
    }
}

extension StaticString {
    /// The UTF-8 of this string, which lives as long as the program.
    @inlinable @inline(__always)
    package var bytes: Span<UInt8> {
        @_lifetime(immortal)
        get {
            let bytes = unsafe UnsafeBufferPointer(start: utf8Start, count: utf8CodeUnitCount)
            return unsafe _overrideLifetime(bytes.span, copying: ())
        }
    }
}

internal import CAssayBytes

extension Span<UInt8> {
    /// The octets of a JSON string's 64 from `start` on that are not simply its characters, or
    /// above the highest of ASCII: bit i stands for octet `start` + i. Bits past the end are set.
    @inline(__always)
    func jsonStops(from start: Int, above highest: UInt8 = 0x7F) -> UInt64 {
        precondition(start >= 0 && start <= count)
        return unsafe withUnsafeBufferPointer { octets in
            guard let first = octets.baseAddress else { return .max }
            return unsafe assay_json_stops(
                first + start, Swift.min(octets.count &- start, 64), highest)
        }
    }

    /// Whether each octet is simply a character of a JSON string, and none above the highest.
    func isPlainJSON(upTo highest: UInt8) -> Bool {
        for start in stride(from: 0, to: count, by: 64) {
            let left = count &- start
            let past: UInt64 = left < 64 ? .max << left : 0
            guard jsonStops(from: start, above: highest) == past else { return false }
        }
        return true
    }
}

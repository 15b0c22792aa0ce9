internal import CAssayBytes

extension Span<UInt8> {
    /// The octets of a JSON string's 64 from `start` on that are not simply its characters: bit i
    /// stands for octet `start` + i. Bits past the end are set.
    @inline(__always)
    func jsonStops(from start: Int) -> UInt64 {
        precondition(start >= 0 && start <= count)
        return unsafe withUnsafeBufferPointer { octets in
            guard let first = octets.baseAddress else { return .max }
            return unsafe assay_json_stops(first + start, Swift.min(octets.count &- start, 64))
        }
    }
}

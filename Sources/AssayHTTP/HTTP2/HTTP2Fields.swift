import CNghttp2

/// The fields of a head or of trailers, encoded once for all the answers that have them.
package struct HTTP2Fields: Sendable {
    /// Names and values, one after the other.
    private var bytes: [UInt8] = []
    private var lengths: [(name: Int, value: Int)] = []

    /// - Parameter fields: names are in lower case.
    package init(_ fields: [(name: String, value: String)]) {
        lengths.reserveCapacity(fields.count)
        for (name, value) in fields {
            bytes += name.utf8
            bytes += value.utf8
            lengths.append((name.utf8.count, value.utf8.count))
        }
    }

    /// Passes the fields as nghttp2 has them, which copies them.
    func withPairs(_ body: (UnsafeBufferPointer<nghttp2_nv>) -> Void) {
        unsafe bytes.withUnsafeBufferPointer { buffer in
            // Not read if it is empty.
            guard var pointer = unsafe UnsafeMutablePointer(mutating: buffer.baseAddress) else {
                return unsafe body(UnsafeBufferPointer(start: nil, count: 0))
            }
            unsafe withUnsafeTemporaryAllocation(of: nghttp2_nv.self, capacity: lengths.count) {
                pairs in
                for (index, (name, value)) in lengths.enumerated() {
                    unsafe pairs.initializeElement(
                        at: index,
                        to: nghttp2_nv(
                            name: pointer, value: pointer + name, namelen: name, valuelen: value,
                            flags: UInt8(NGHTTP2_NV_FLAG_NONE.rawValue)))
                    unsafe pointer += name + value
                }
                unsafe body(UnsafeBufferPointer(pairs))
            }
        }
    }
}

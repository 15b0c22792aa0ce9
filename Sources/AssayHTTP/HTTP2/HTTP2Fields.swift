import AssayBytes
import CNghttp2

/// The fields of a head or of trailers, encoded once for all the answers that have them.
package struct HTTP2Fields: Sendable {
    /// Names and values, one after the other.
    private var bytes: [UInt8] = []
    private var lengths: [(name: Int, value: Int)] = []

    /// - Parameter fields: names are in lower case.
    package init(_ fields: [(name: String, value: String)]) {
        lengths.reserveCapacity(fields.count)
        for (name, value) in fields { append(name, value) }
    }

    /// The head of a response.
    ///
    /// - Parameters:
    ///   - length: of the body; nil if its end is not known yet.
    ///   - seconds: the time, since 1970.
    package init(_ response: HTTPResponse, length: Int?, at seconds: Int64) {
        bytes.reserveCapacity(Self.usualBytes)
        lengths.reserveCapacity(Self.usualCount + response.fields.count)
        append(":status", String(response.status))
        let start = bytes.count
        bytes += "date".utf8
        HTTPDate.append(secondsSince1970: seconds, to: &bytes)
        lengths.append((4, bytes.count - start - 4))
        if response.canHaveBody {
            if let type = response.contentType { append("content-type", type) }
            if let length { append("content-length", String(length)) }
        }
        for (name, value) in HTTPResponse.everywhere { append(name.lowercased(), value) }
        for (name, value) in response.fields { append(name.lowercased(), value) }
    }

    /// Bytes and number of fields of the usual head.
    private static let (usualBytes, usualCount) = (256, 6)

    private mutating func append(_ name: String, _ value: String) {
        bytes += name.utf8
        bytes += value.utf8
        lengths.append((name.utf8.count, value.utf8.count))
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

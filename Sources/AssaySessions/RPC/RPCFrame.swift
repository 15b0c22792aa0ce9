import AssayBytes
import AssayWire

/// The frames of gRPC-Web, which are those of gRPC and of Connect's streams: a byte of flags, a
/// length of four bytes, and a message, or trailers or the end of the stream.
struct RPCFrame: Equatable, Sendable {
    /// Bytes before the content.
    static let prefixBytes = 5

    private static let compressed: UInt8 = 0x01
    private static let trailers: UInt8 = 0x80
    private static let end: UInt8 = 0x02

    /// The number of bytes of the content.
    let length: Int
    /// Whether the message is compressed.
    let isCompressed: Bool

    /// Reads the prefix of a request's message; nil if it is incomplete.
    init?(_ bytes: Span<UInt8>) throws(HTTPProblem) {
        guard bytes.count > 0 else { return nil }
        isCompressed = bytes[0] == Self.compressed
        guard bytes[0] == 0 || isCompressed else {
            throw HTTPProblem(400, .invalidArgument, "a message has flags that are not known here")
                .grpc(.internal)
        }
        guard bytes.count >= Self.prefixBytes else { return nil }
        length = (1..<Self.prefixBytes).reduce(0) { $0 << 8 | Int(bytes[$1]) }
    }

    /// Reads the prefix of a message of a call that says how its messages are compressed.
    init?(_ bytes: Span<UInt8>, _ compression: RPCCompression) throws(HTTPProblem) {
        guard let frame = try RPCFrame(bytes) else { return nil }
        guard !frame.isCompressed || compression == .gzip else { throw .undeclaredCompression }
        self = frame
    }

    static func append(message: Span<UInt8>, to output: inout [UInt8]) {
        append(0, message, to: &output)
    }

    /// Begins a frame whose message is appended next. Returns its start, for `end`.
    static func begin(in output: inout [UInt8]) -> Int {
        for _ in 0..<prefixBytes { output.append(0) }
        return output.count - prefixBytes
    }

    /// Ends a frame that began at `start`.
    static func end(from start: Int, in output: inout [UInt8]) {
        let length = UInt32(output.count - start - prefixBytes)
        for index in 1..<prefixBytes {
            let shift = UInt32(8 * (prefixBytes - 1 - index))
            output[start + index] = UInt8(truncatingIfNeeded: length >> shift)
        }
    }

    /// Appends the last frame of an answer.
    static func append(trailers: Span<UInt8>, to output: inout [UInt8]) {
        append(Self.trailers, trailers, to: &output)
    }

    /// Appends the last frame of a stream of Connect.
    static func append(end: Span<UInt8>, to output: inout [UInt8]) {
        append(Self.end, end, to: &output)
    }

    private static func append(_ flags: UInt8, _ content: Span<UInt8>, to output: inout [UInt8]) {
        output.reserveCapacity(output.count + prefixBytes + content.count)
        output.append(flags)
        let length = UInt32(content.count)
        for shift: UInt32 in [24, 16, 8, 0] {
            output.append(UInt8(truncatingIfNeeded: length >> shift))
        }
        output += content.array
    }
}

extension HTTPProblem {
    static let otherCompression = HTTPProblem(
        415, .unimplemented, "messages are compressed with gzip, or not at all (identity)")

    static let undeclaredCompression = HTTPProblem(
        400, .invalidArgument, "a message is compressed, and the head of the call does not say how"
    ).grpc(.internal)
}

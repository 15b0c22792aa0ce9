/// The limits of a connection of HTTP/2.
package struct HTTP2Limits: Sendable {
    /// Streams at a time. As gRPC's servers announce.
    package var streams: UInt32 = 100
    /// Bytes of a stream's data that the server has not used.
    package var streamWindow: Int32 = 256 << 10
    /// Bytes of the data of all streams that the server has not used.
    package var connectionWindow: Int32 = 1 << 20
    /// Bytes of the names and values of one head, and 32 for each as RFC 9113 counts them.
    package var headListBytes = 16 << 10
    /// The same of a block that is refused, head or trailers. A larger one ends the connection: a
    /// field of the dynamic table takes one byte, and 4 KB to decode.
    package var refusedListBytes = 128 << 10
    /// The largest allocation of nghttp2: a field of `headListBytes` in Huffman code,
    /// for which it reserves twice the encoded size. Its own buffers have 16 KB. A larger field
    /// ends the connection: it would be held whole before its size is known.
    package var largestAllocation = 33 << 10
    /// Bytes of fields that are decoded in one step. The rest waits for the connection's next turn.
    package var decodedBytes = 64 << 10
    /// Whether a request has to name a host: `HTTPOriginPolicy.Binding.needsHost`.
    package var needsHost = true
    /// Answers to PING and SETTINGS that the peer has not read. A peer with more is cut off.
    package var unreadAcks = 100
    /// Settings in one frame. There are seven.
    package var settings = 32
    /// Frames that carry neither a request nor its data, at once. A client that is honest sends a
    /// few for each request, and one now and then.
    package var controlFrames = 1_000
    /// As many more for each second.
    package var controlFramesPerSecond = 100
    /// Requests that the client gives up before their answer, at once: all streams, several times.
    package var resets = 500
    /// As many more for each second.
    package var resetsPerSecond = 30

    package init() {}

    /// The size of a field (RFC 9113, section 6.5.2), which also is about what it costs to decode.
    static func listBytes(_ name: Span<UInt8>, _ value: Span<UInt8>) -> Int {
        name.count + value.count + 32
    }
}

/// Another protocol, recognized by its first bytes. Read as a length, they exceed
/// `FrameLimits.largestFrame`, so no frame is mistaken for another protocol.
public enum ForeignProtocol: Hashable, Sendable, CustomStringConvertible {
    /// A request line.
    case http1
    /// The preface of HTTP/2, and so of gRPC.
    case http2
    /// A TLS ClientHello.
    case tls

    public var description: String {
        switch self {
        case .http1:
            "this is HTTP; the port speaks length-prefixed frames, see assay.proto"
        case .http2:
            "this is HTTP/2 or gRPC; the port speaks length-prefixed frames, see assay.proto"
        case .tls:
            "this is TLS, but the port has no TLS; see the configuration of TLS listeners"
        }
    }

    /// The first four bytes of HTTP methods.
    private static let methods: [[4 of UInt8]] = [
        [0x47, 0x45, 0x54, 0x20],  // GET
        [0x50, 0x4f, 0x53, 0x54],  // POST
        [0x50, 0x55, 0x54, 0x20],  // PUT
        [0x48, 0x45, 0x41, 0x44],  // HEAD
        [0x44, 0x45, 0x4c, 0x45],  // DELETE
        [0x4f, 0x50, 0x54, 0x49],  // OPTIONS
        [0x50, 0x41, 0x54, 0x43],  // PATCH
        [0x43, 0x4f, 0x4e, 0x4e],  // CONNECT
        [0x54, 0x52, 0x41, 0x43],  // TRACE
    ]
    /// RFC 9113, section 3.4: "PRI * HTTP/2.0".
    private static let preface: [4 of UInt8] = [0x50, 0x52, 0x49, 0x20]

    /// Returns nil for other bytes, or for too few: TLS needs two, HTTP four.
    init?(_ bytes: Span<UInt8>) {
        // RFC 8446, section 5.1: type handshake (22), then the legacy version 3.x.
        if bytes.count >= 2, bytes[0] == 22, bytes[1] == 3 {
            self = .tls
            return
        }
        guard bytes.count >= 4 else { return nil }
        if Self.begins(bytes, with: Self.preface) {
            self = .http2
            return
        }
        for method in Self.methods where Self.begins(bytes, with: method) {
            self = .http1
            return
        }
        return nil
    }

    private static func begins(_ bytes: Span<UInt8>, with start: [4 of UInt8]) -> Bool {
        for index in start.indices where bytes[index] != start[index] { return false }
        return true
    }
}

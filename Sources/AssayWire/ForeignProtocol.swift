/// Another protocol, recognized by its first bytes. Read as a length, they exceed
/// `FrameLimits.largestFrame`, so no frame is mistaken for another protocol.
public enum ForeignProtocol: Hashable, Sendable, CustomStringConvertible {
    /// A request of HTTP/1.
    case http1
    /// An answer of HTTP/1, which a client meets on the port of an HTTP server.
    case http1Answer
    /// The preface of HTTP/2, and so of gRPC.
    case http2
    /// A TLS ClientHello.
    case tls
    /// A TLS alert, with which a TLS server answers bytes that are no TLS.
    case tlsAlert

    public var description: String {
        switch self {
        case .http1:
            "this is HTTP, and the port speaks Assay's frames: use the port of --listen http://"
        case .http2:
            """
            this is HTTP/2 or gRPC, and the port speaks Assay's frames: use the port of \
            --listen http://
            """
        case .http1Answer:
            """
            this is HTTP: the port of --listen http://; a client needs that of --listen tcp://, \
            tls:// or unix:
            """
        case .tls:
            "this is TLS, and the port has none: use the port of --listen tls://"
        case .tlsAlert:
            "this is TLS: write tls://HOST:PORT as the address"
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
    /// RFC 9112, section 4: "HTTP/1.1 400".
    private static let answer: [4 of UInt8] = [0x48, 0x54, 0x54, 0x50]

    /// Returns nil for other bytes, or for too few: TLS needs two, HTTP four.
    init?(_ bytes: Span<UInt8>) {
        // RFC 8446, section 5.1: type alert (21) or handshake (22), then the legacy version 3.x.
        if bytes.count >= 2, bytes[0] == 21 || bytes[0] == 22, bytes[1] == 3 {
            self = bytes[0] == 21 ? .tlsAlert : .tls
            return
        }
        guard bytes.count >= 4 else { return nil }
        if Self.begins(bytes, with: Self.preface) {
            self = .http2
            return
        }
        if Self.begins(bytes, with: Self.answer) {
            self = .http1Answer
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

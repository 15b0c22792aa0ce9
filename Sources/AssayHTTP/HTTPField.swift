/// The fields of a request that have a meaning here. Others are checked for their form and
/// ignored.
package enum HTTPField: Int, CaseIterable, Hashable, Sendable {
    case host, contentLength, transferEncoding, connection, contentType, contentEncoding, expect
    case origin, authorization, correlationId, fetchSite, traceparent, accept
    case connectVersion, connectTimeout, connectEncoding, grpcTimeout, grpcEncoding

    package var name: String {
        switch self {
        case .host: "Host"
        case .contentLength: "Content-Length"
        case .transferEncoding: "Transfer-Encoding"
        case .connection: "Connection"
        case .contentType: "Content-Type"
        case .contentEncoding: "Content-Encoding"
        case .expect: "Expect"
        case .origin: "Origin"
        case .authorization: "Authorization"
        case .correlationId: "X-Correlation-Id"
        case .fetchSite: "Sec-Fetch-Site"
        case .traceparent: "Traceparent"
        case .accept: "Accept"
        case .connectVersion: "Connect-Protocol-Version"
        case .connectTimeout: "Connect-Timeout-Ms"
        case .connectEncoding: "Connect-Content-Encoding"
        case .grpcTimeout: "Grpc-Timeout"
        case .grpcEncoding: "Grpc-Encoding"
        }
    }

    /// The fields of a client that traces its requests (W3C Trace Context).
    package static let traceNames = traceparent.name + ", Tracestate"

    /// Lower-case names by their raw value.
    private static let names = allCases.map { $0.name.lowercased() }

    /// The field of this name, compared without case; nil for others.
    static func named(_ name: Span<UInt8>) -> HTTPField? {
        let field: HTTPField
        // Length and first letter differ for each but two.
        switch (name.count, name[0] | 0x20) {
        case (4, UInt8(ascii: "h")): field = .host
        case (6, UInt8(ascii: "o")): field = .origin
        case (6, UInt8(ascii: "e")): field = .expect
        case (6, UInt8(ascii: "a")): field = .accept
        case (10, UInt8(ascii: "c")): field = .connection
        case (11, UInt8(ascii: "t")): field = .traceparent
        case (12, UInt8(ascii: "c")): field = .contentType
        case (12, UInt8(ascii: "g")): field = .grpcTimeout
        case (13, UInt8(ascii: "a")): field = .authorization
        case (13, UInt8(ascii: "g")): field = .grpcEncoding
        case (14, UInt8(ascii: "c")): field = .contentLength
        case (14, UInt8(ascii: "s")): field = .fetchSite
        case (16, UInt8(ascii: "c")): field = .contentEncoding
        case (16, UInt8(ascii: "x")): field = .correlationId
        case (17, UInt8(ascii: "t")): field = .transferEncoding
        case (18, UInt8(ascii: "c")): field = .connectTimeout
        case (24, UInt8(ascii: "c")):
            field = name[8] | 0x20 == UInt8(ascii: "p") ? .connectVersion : .connectEncoding
        default: return nil
        }
        return name.equalsLowercase(names[field.rawValue]) ? field : nil
    }
}

extension Span<UInt8> {
    /// Whether these ASCII letters are the lower-case ones, in any case.
    package func equalsLowercase(_ other: String) -> Bool {
        guard count == other.utf8.count else { return false }
        var index = 0
        for letter in other.utf8 {
            let byte = self[index]
            let isUpper = UInt8(ascii: "A") <= byte && byte <= UInt8(ascii: "Z")
            if (isUpper ? byte | 0x20 : byte) != letter { return false }
            index += 1
        }
        return true
    }

    /// Whether these are the bytes of a text.
    package func equals(_ other: String) -> Bool {
        count == other.utf8.count && begins(other)
    }
}

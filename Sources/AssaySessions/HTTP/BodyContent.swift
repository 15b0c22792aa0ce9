import AssayBytes
import AssayIO

/// Where a part of a request's content is: evidence, or the fields of a call.
enum BodyContent: Equatable, Sendable {
    /// A range of the body.
    case part(Range<Int>)
    /// Bytes that were decoded from the body, or joined.
    case decoded([UInt8])

    var count: Int {
        switch self {
        case .part(let range): range.count
        case .decoded(let bytes): bytes.count
        }
    }

    var isEmpty: Bool { count == 0 }

    /// Calls `use` with the bytes of the content.
    func withBytes<Result, Failure: Error>(
        of body: Span<UInt8>, _ use: (Span<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        switch self {
        case .part(let range): try use(body.extracting(range))
        case .decoded(let bytes): try use(bytes.span)
        }
    }

    /// The bytes for a request; those of the body are shared.
    func bytes(of body: SlabBytes, by inlet: Inlet) -> SlabBytes {
        switch self {
        case .part(let range): body.extracting(range)
        case .decoded(let bytes): inlet.hold(bytes.span)
        }
    }

    /// Copies a range of the body out of bytes that end with this call.
    mutating func isolate(from body: Span<UInt8>) {
        if case .part(let range) = self { self = .decoded(body.array(range)) }
    }
}

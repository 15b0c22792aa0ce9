/// An AlgorithmIdentifier (RFC 5280, section 4.1.1.2). The callers check the parameters, because
/// the rules differ by algorithm.
struct AlgorithmIdentifier {
    /// The object identifier.
    let algorithm: DERElement
    let parameters: Parameters

    enum Parameters: Equatable {
        case absent
        /// NULL without content.
        case null
        case other(DERElement)

        /// Whether there are no parameters, in either encoding (RFC 4055, section 2.1; RFC 5754,
        /// section 2).
        var isAbsentOrNull: Bool { self == .absent || self == .null }
    }

    /// Reads the content of the SEQUENCE, to its end.
    init(_ content: DERReader) throws(DERError) {
        var reader = content
        algorithm = try reader.read(.objectIdentifier)
        if reader.isAtEnd {
            parameters = .absent
        } else {
            let element = try reader.readElement()
            let isNull = element.tag == .null && element.content.isEmpty
            parameters = isNull ? .null : .other(element)
        }
        try reader.atEnd()
    }
}

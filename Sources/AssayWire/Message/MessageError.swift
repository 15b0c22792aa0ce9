/// Why the head of a frame can't be used.
package enum MessageError: Error, Equatable, Sendable {
    /// Not a protobuf message of its type: truncated, a wrong wire type, or a length beyond the
    /// end.
    case malformed
    /// The message needs more memory than its size justifies (`MessageCodec.memoryPerByte`): a
    /// flood of tiny fields.
    case tooLarge
    /// Text that is not UTF-8.
    case invalidText
    /// A required field is absent: a payload's field that is always present, or a result's
    /// content.
    case missingField
    /// A verdict that this version does not know. It is never mapped to another verdict.
    case unknownVerdict(Int32)
}

extension MessageError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .malformed: "the head is not a protobuf message of its type"
        case .tooLarge: "the head has too many fields for its size"
        case .invalidText: "the head has text that is not UTF-8"
        case .missingField: "the head lacks a required field"
        case .unknownVerdict(let number): "the verdict \(number) is unknown to this version"
        }
    }
}

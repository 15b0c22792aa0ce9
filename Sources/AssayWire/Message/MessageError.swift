/// Why the head of a frame cannot be used.
public enum MessageError: Error, Equatable, Sendable {
    /// Not a protobuf message of its type: cut short, a wrong wire type, a length beyond the end.
    case malformed
    /// It would take more memory than its size justifies (`MessageCodec.memoryPerByte`): a flood
    /// of tiny fields.
    case tooLarge
    /// Text that is not UTF-8.
    case invalidText
    /// A field is absent that has no meaning without: a payload without a field that is always
    /// there, a result without its content.
    case missingField
    /// A verdict that this version does not know; it is not taken for any other.
    case unknownVerdict(Int32)
}

extension MessageError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .malformed: "the head is not a protobuf message of its type"
        case .tooLarge: "the head has too many fields for its size"
        case .invalidText: "the head has text that is not UTF-8"
        case .missingField: "the head lacks a field that has to be there"
        case .unknownVerdict(let number): "the verdict \(number) is unknown to this version"
        }
    }
}

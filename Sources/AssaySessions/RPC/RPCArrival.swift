import AssayBytes
import AssayTelemetry
import AssayWire

/// Looks for the evidence in a message that is arriving, so that a large receipt can be verified
/// as it arrives. It owns no bytes; the result depends only on the bytes, not on how they arrived.
struct RPCArrival: Sendable {
    private let hasFrames: Bool
    private let method: RPCMethod
    private let headLimit: Int
    private var reader: FieldReader
    /// The end of the message, counted from the start of the body; nil if it is unknown.
    private var end: Int?
    private var hasPrefix = false
    /// Whether the call has arrived, without which the kind of the evidence is unknown.
    private var hasCall = false

    /// - Parameter bodyBytes: the size of the body; nil if it is unknown.
    /// - Parameter headLimit: bytes of the fields before the evidence.
    init(_ form: RPCForm, bodyBytes: Int?, headLimit: Int) {
        hasFrames = form.framing.hasFrames
        method = form.method
        self.headLimit = headLimit
        reader = FieldReader(at: hasFrames ? RPCFrame.prefixBytes : 0)
        end = bodyBytes
    }

    /// VerifyCall, in a VerifyRequest and in a VerifyStreamRequest.
    private static let callField = 5

    /// Whether a message in this form can hold evidence that is verified as it arrives.
    static func canStream(_ form: RPCForm) -> Bool {
        (form.method == .verify || form.method == .verifyStream) && form.codec == .proto
            && form.framing != .grpcWebText
    }

    enum Step: Equatable {
        case needMore
        /// The message is to be read whole.
        case whole
        /// The evidence is the rest of the message.
        case evidence(head: [UInt8], Range<Int>)
    }

    /// Examines the bytes of the body that have arrived, from the first one on.
    mutating func next(in bytes: Span<UInt8>) throws(HTTPProblem) -> Step {
        if hasFrames, !hasPrefix {
            guard let frame = try RPCFrame(bytes) else { return .needMore }
            let (stated, announced) = (RPCFrame.prefixBytes + frame.length, end)
            guard announced == nil || announced == stated else {
                throw .wrongMessageLength(stated: stated, of: announced ?? stated)
            }
            guard !frame.isCompressed else { return .whole }
            end = stated
            hasPrefix = true
        }
        while true {
            let field: FieldReader.Field?
            do throws(MessageError) { field = try reader.begin(in: bytes) } catch {
                throw .undecodable(error)
            }
            guard let field else { return reader.position > headLimit ? .whole : .needMore }
            if field.number == MessageCodec.evidenceField, case .bytes(let range) = field.value {
                guard end == range.upperBound || end == nil && hasCall else { return .whole }
                return .evidence(head: head(bytes, before: field.range.lowerBound), range)
            }
            // Longer heads are refused when the message is whole.
            guard field.range.upperBound <= headLimit else { return .whole }
            if field.number == Self.callField { hasCall = true }
            reader.skip(field)
        }
    }

    /// The fields before the evidence that a RequestHead has as well.
    private func head(_ bytes: Span<UInt8>, before end: Int) -> [UInt8] {
        var head: [UInt8] = []
        var fields = FieldReader(at: hasFrames ? RPCFrame.prefixBytes : 0)
        let before = bytes.extracting(0..<end)
        while let field = try? fields.next(in: before) {
            if method.headFields.contains(field.number) {
                head += bytes.extracting(field.range).array
            }
        }
        return head
    }
}

import AssayModels
import AssayWire

/// Messages of `assay.v1.Verifier`. Their fields have the numbers that a frame's head has for them,
/// and the evidence is their last one.
enum RPCMessages {
    static let verify = "/assay.v1.Verifier/Verify"
    static let verifyStream = "/assay.v1.Verifier/VerifyStream"

    /// A VerifyRequest; with an id, a VerifyStreamRequest.
    static func request(
        _ evidence: [UInt8], _ call: VerifyCall, id: UInt64 = 1, mayWait: Bool = false
    ) -> [UInt8] {
        var frame: [UInt8] = []
        MessageCodec().encodeFrame(
            RequestHead(id: id, call: .verify(call), timeoutMilliseconds: 0, mayWait: mayWait),
            body: [], into: &frame)
        // Its size and that of the head are before the head.
        let head = Array(frame[8...])
        return head + tag(evidenceField) + varint(evidence.count) + evidence
    }

    private static let evidenceField = 100

    private static func tag(_ field: Int) -> [UInt8] { varint(field << 3 | 2) }

    private static func varint(_ number: Int) -> [UInt8] {
        var (rest, bytes) = (number, [UInt8]())
        while rest > 0x7F {
            bytes.append(UInt8(rest & 0x7F) | 0x80)
            rest >>= 7
        }
        return bytes + [UInt8(rest)]
    }

    /// A message of gRPC: its flags and its length come first.
    static func frame(_ message: [UInt8]) -> [UInt8] {
        [0] + [24, 16, 8, 0].map { UInt8(message.count >> $0 & 0xFF) } + message
    }

    static let prefixBytes = 5

    /// The size of the message of gRPC that the bytes begin with, and of its prefix; nil without
    /// the whole prefix.
    static func size(_ bytes: ArraySlice<UInt8>) -> Int? {
        guard bytes.count >= prefixBytes else { return nil }
        let length = bytes.dropFirst().prefix(4).reduce(0) { $0 << 8 | Int($1) }
        return prefixBytes + length
    }

    /// Whether the bytes begin with a verification that is VALID. It is the first field of the
    /// answer, and the verdict is its first field.
    static func isValid(_ answer: ArraySlice<UInt8>) -> Bool {
        guard answer.first == UInt8(verificationField << 3 | 2) else { return false }
        let message = answer.dropFirst().drop { $0 & 0x80 != 0 }.dropFirst()
        return message.starts(with: [1 << 3, UInt8(Verdict.valid.rawValue)])
    }

    /// The same, after the id of an answer on a stream.
    static func isValidOnStream(_ answer: ArraySlice<UInt8>) -> Bool {
        guard answer.first == 1 << 3 else { return false }
        return isValid(answer.dropFirst().drop { $0 & 0x80 != 0 }.dropFirst())
    }

    private static let verificationField = 5
}

import AssayWire

/// Uses the product AssayWire alone.
enum WireProduct {
    /// Returns the id that a decoder reads from the frame of a request.
    static func roundTrip() throws(MessageError) -> UInt64? {
        let codec = MessageCodec()
        var output: [UInt8] = []
        let call = VerifyCall(kind: EvidenceKind.transaction, expectations: Expectations.none)
        codec.encodeFrame(RequestHead(id: 7, call: .verify(call)), body: [1, 2], into: &output)
        guard case .frame(let frame) = FrameDecoder(limits: .request).next(in: output.span) else {
            return nil
        }
        return try codec.decodeRequest(output.span.extracting(frame.head)).id
    }
}

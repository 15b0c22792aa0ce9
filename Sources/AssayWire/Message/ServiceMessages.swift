package import AssayModels

/// The answers of the services (`assay/v1/service.proto`). Their requests are those of frames, with
/// the evidence as one field more.
extension MessageCodec {
    /// The number of the field with evidence in a request, and with signed JSON in an answer.
    package static let evidenceField = 100

    /// Appends a VerifyResponse.
    ///
    /// - Parameter withPayload: whether it has the payload as typed fields.
    /// - Parameter json: the signed JSON; nil if none was asked for.
    package func encodeVerifyResponse(
        _ verification: Verification, withPayload: Bool, json: [UInt8]?,
        into output: inout [UInt8]
    ) {
        writer.clear()
        writer.set(Self.evidenceField, json)
        writer.wrap(5) { verification.write(to: &$0, withPayload: withPayload) }
        writer.append(to: &output)
    }

    /// Appends a ResolveResponse.
    ///
    /// - Parameter json: the signed JSON of each item; empty if none was asked for.
    package func encodeResolveResponse(
        _ resolution: Resolution, json: [[UInt8]], into output: inout [UInt8]
    ) {
        writer.clear()
        writer.setEach(Self.evidenceField, json)
        writer.nest(9, resolution)
        writer.append(to: &output)
    }

    /// Appends a FetchResponse.
    package func encodeFetchResponse(_ fetched: Fetched, into output: inout [UInt8]) {
        writer.clear()
        writer.nest(10, fetched)
        writer.append(to: &output)
    }

    /// Appends an InfoResponse.
    package func encodeInfoResponse(_ info: ServerInfo, into output: inout [UInt8]) {
        writer.clear()
        writer.nest(7, info)
        writer.append(to: &output)
    }
}

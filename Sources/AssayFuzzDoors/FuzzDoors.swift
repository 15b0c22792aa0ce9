import Assay
import AssayModels
import AssayWire

/// The parsers, one function each: bytes of a fuzzer in, nothing out. Where something does not
/// hold that has to, they trap, which is what a fuzzer looks for.
///
/// Not part of the product: nothing but `Tests/Fuzz` depends on it.
public enum FuzzDoors {
    /// What was accepted is accepted again as it is written anew, and then written the same.
    public static func json(_ bytes: Span<UInt8>) {
        guard let document = try? JSONDocument.parse(bytes) else { return }
        let text = written(document)
        guard let again = try? JSONDocument.parse(text) else {
            preconditionFailure("what was written does not parse")
        }
        precondition(written(again) == text, "written twice, it is not the same")
        _ = try? document.decode(JWSTransactionDecodedPayload.self)
        _ = try? document.decode(JWSRenewalInfoDecodedPayload.self)
        _ = try? document.decode(AppTransaction.self)
        _ = try? document.decode(ResponseBodyV2DecodedPayload.self)
        _ = try? document.decode(DecodedRealtimeRequestBody.self)
    }

    private static func written(_ document: JSONDocument) -> [UInt8] {
        var writer = JSONWriter()
        writer.value(document.root)
        return writer.text
    }

    /// Canonical: what decodes is what its bytes encode to, in either alphabet.
    public static func base64(_ bytes: Span<UInt8>) {
        if let decoded = try? Base64URL.decode(bytes) {
            precondition(bytes.equals(Base64URL.encode(decoded.span)), "base64url twice")
        }
        if let decoded = try? Base64.decode(bytes) {
            precondition(bytes.equals(Base64.encode(decoded.span)), "base64 twice")
        }
        let own = bytes.array
        precondition((try? Base64URL.decode(Base64URL.encode(bytes).span)) == own)
        precondition((try? Base64.decode(Base64.encode(bytes).span)) == own)
    }

    /// DER, or PEM around it.
    public static func certificate(_ bytes: Span<UInt8>) {
        guard let der = try? PEM.certificate(bytes.array),
            let certificate = try? Certificate(der: der)
        else { return }
        precondition(certificate.der == der)
        precondition(certificate.notBefore <= certificate.notAfter)
        precondition(!certificate.serialText.isEmpty)
        _ = certificate.subjectCommonName
        _ = certificate.rsaKey(smallestBits: 2048)
        if let store = try? TrustStore.empty.pinning(der, development: true) {
            precondition(store.anchors.count == 1)
        }
        _ = try? TrustStore.empty.adding(intermediate: der)
    }

    /// A frame is found at the same place however few of its bytes are there before.
    public static func frame(_ bytes: Span<UInt8>) {
        let limits = FrameLimits(frameBytes: 4096, headBytes: 1024)
        let decoder = FrameDecoder(limits: limits)
        let reporting = FrameDecoder(limits: limits, reportsHeads: true)
        var position = 0
        while true {
            let rest = bytes.extracting(position..<bytes.count)
            let whole = decoder.next(in: rest)
            checkPrefixes(rest, whole, decoder)
            let end: Int
            switch whole {
            case .needMore(let minimum):
                precondition(minimum > rest.count)
                if case .head(let frame) = reporting.next(in: rest) {
                    precondition(frame.end == minimum && frame.head.upperBound <= rest.count)
                }
                return
            case .head: preconditionFailure("not asked for")
            case .frame(let frame):
                precondition(frame.head.upperBound == frame.body.lowerBound)
                precondition(frame.end <= rest.count && frame.end >= FrameDecoder.prefixBytes)
                precondition(reporting.next(in: rest) == whole)
                end = frame.end
            case .fault(let fault):
                precondition(fault.canContinue == (fault.skip != nil))
                guard let skip = fault.skip else { return }
                precondition(skip > 0)
                end = skip
            }
            guard end <= rest.count else { return }
            position += end
        }
    }

    private static func checkPrefixes(
        _ bytes: Span<UInt8>, _ whole: FrameDecoder.Step, _ decoder: FrameDecoder
    ) {
        for count in 0..<min(bytes.count, 24) {
            switch decoder.next(in: bytes.extracting(0..<count)) {
            case .needMore(let minimum): precondition(minimum > count)
            case .head: preconditionFailure("not asked for")
            case .frame(let frame): precondition(whole == .frame(frame))
            case .fault(let fault): precondition(whole == .fault(fault))
            }
        }
    }

    /// A head that decodes is the same after encoding and decoding again.
    public static func head(_ bytes: Span<UInt8>) {
        let codec = MessageCodec()
        _ = MessageCodec.leadingId(of: bytes)
        if let request = try? codec.decodeRequest(bytes) {
            var encoded: [UInt8] = []
            codec.encode(request, into: &encoded)
            precondition((try? codec.decodeRequest(encoded.span)) == request, "request twice")
        }
        if let response = try? codec.decodeResponse(bytes) {
            var encoded: [UInt8] = []
            codec.encode(response, into: &encoded)
            precondition((try? codec.decodeResponse(encoded.span)) == response, "response twice")
        }
    }
}

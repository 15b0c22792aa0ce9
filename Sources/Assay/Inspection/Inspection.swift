package import AssayBytes
package import AssayModels

/// What evidence contains, as far as it can be read. Nothing in it is verified: it serves a person
/// who looks for a fault, and never a decision.
package struct Inspection: Sendable {
    /// The member that the evidence was found in, such as `data.signedTransactionInfo`; empty for
    /// the evidence itself.
    package let member: String
    package private(set) var format: EvidenceShape?
    /// The kind that the evidence seems to be.
    package private(set) var likelyKind: EvidenceKind?
    package let byteCount: Int
    /// The header of a JWS; the unsigned members of a transaction receipt.
    package private(set) var header: JSONDocument?
    package private(set) var certificates: [InspectedCertificate] = []
    /// The payload; the attributes of a receipt; a JSON body.
    package private(set) var payload: JSONDocument?
    /// The payload as text, where it is not the JSON that it should be.
    package private(set) var payloadText: String?
    /// An app receipt, with at most the wanted number of in-app records.
    package private(set) var receipt: AppReceipt?
    /// The number of in-app records in the receipt.
    package private(set) var recordCount = 0
    /// The evidence in members of the payload.
    package private(set) var nested: [Inspection] = []
    /// What could not be read, in plain words.
    package private(set) var problems: [String] = []

    private let wantedRecords: Int
    /// Bytes of the paths made, which tests compare with the size of the input.
    package private(set) var bytesMade = 0

    /// The bundle id that the evidence names. UNVERIFIED.
    package var bundleId: String? {
        if let receipt { return receipt.bundleId }
        let root = payload?.root
        let named =
            root?["bundleId"] ?? root?["data"]?["bundleId"] ?? root?["bid"] ?? root?["packageName"]
        return named?.string ?? nested.lazy.compactMap(\.bundleId).first
    }

    /// Inspects evidence of any kind.
    ///
    /// - Parameter records: the most in-app records of a receipt to keep; the newest are kept.
    package init(_ evidence: Span<UInt8>, records: Int = ExplanationLimits.records) {
        var nested = InspectionLimits.nested
        self.init(evidence, member: "", depth: 0, records: records, nested: &nested)
        guard let refusal = Self.refusal(evidence, as: likelyKind) else { return }
        if !problems.contains(refusal) { problems.insert(refusal, at: 0) }
    }

    /// The bundle id that evidence names, verified or not.
    package static func bundleId(of evidence: Span<UInt8>) -> String? {
        var nested = InspectionLimits.nested
        return Inspection(evidence, member: "", depth: 0, records: 0, nested: &nested).bundleId
    }

    /// Why the verifier could not read the evidence, whatever is trusted and accepted; nil if it
    /// could.
    private static func refusal(_ evidence: Span<UInt8>, as kind: EvidenceKind?) -> String? {
        let answer = verifier.verify(
            evidence, as: kind ?? .transaction,
            policy: Policy(bundleId: nil, environments: Set(StoreEnvironment.known)),
            inApp: .none, at: endOfTime)
        switch answer.verdict {
        case .malformed, .wrongKind, .unsupportedAlgorithm, .invalidChain: return answer.detail
        case .untrustedChain where answer.detail == EvidenceForm.xcodeText: return answer.detail
        case .untrustedChain, .invalidSignature:
            // A signature of another size counts after the chain.
            let form = EvidenceForm.detect(evidence)
            return [.cutToken, .joinedTokens].contains(form.name) ? form.text : nil
        default: return nil
        }
    }

    /// Trusts Apple alone: a problem is one of the evidence, and not of what is pinned.
    private static let verifier = Verifier(trust: .apple, keyTables: .never)
    /// The last second of the year 9999, so that no evidence is from the future.
    private static let endOfTime = Timestamp(milliseconds: 253_402_300_799_000)

    /// - Parameter left: what is left of the limit of nested evidence.
    init(
        _ evidence: Span<UInt8>, member: String, depth: Int, records: Int, nested left: inout Int
    ) {
        self.member = member
        wantedRecords = records
        byteCount = evidence.count
        likelyKind = Verifier.likelyKind(of: evidence)
        let text = evidence.extracting(trimmed(evidence, isNested: depth > 0))
        format = Self.format(of: text)
        guard format == .appReceipt || text.count <= InspectionLimits.textBytes else {
            problems.append(
                "it is not read: only an app receipt can have more than "
                    + "\(InspectionLimits.textBytes) bytes")
            payloadText = Self.text(text)
            return
        }
        switch format {
        case .jws: readJWS(text)
        case .appReceipt: readAppReceipt(text)
        case .transactionReceipt: readTransactionReceipt(text)
        case .json: readJSON(text)
        case nil: problems.append("it begins like no known evidence")
        }
        guard let payload, depth < InspectionLimits.depth else { return }
        if likelyKind == nil, format == .jws, payload.root.kind == .object {
            likelyKind = PayloadKind.detect(payload) ?? StoreFormat.harmony.likelyKind(payload.root)
        }
        var path = JSONPath()
        findNested(payload.root, &path, depth, &left)
        bytesMade += path.bytesMade
    }

    /// Unlike `EvidenceShape.detect`, finds a JWS with missing or additional segments.
    private static func format(of text: Span<UInt8>) -> EvidenceShape? {
        if text.count > 2, text[0] == UInt8(ascii: "e"),
            text.firstIndex(of: UInt8(ascii: "."), from: 0) != nil
        {
            return .jws
        }
        if let shape = EvidenceShape.detect(text) { return shape }
        return text.count > 0 && text[0] == UInt8(ascii: "{") ? .json : nil
    }

    /// Leaves out what is around copied text: white space, a byte order mark, quotation marks. The
    /// verifier names what it refuses of that in evidence that is not nested.
    private mutating func trimmed(_ text: Span<UInt8>, isNested: Bool) -> Range<Int> {
        var (start, end) = (0, text.count)
        // DER can end with any octet.
        if end > 1, text[0] == Tag.sequence.rawValue, text[1] >= 0x80 { return 0..<end }
        func isAround(_ byte: UInt8) -> Bool {
            byte.isWhiteSpace || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'")
        }
        if end >= 3, text[0] == 0xEF, text[1] == 0xBB, text[2] == 0xBF { start = 3 }
        while start < end, isAround(text[start]) { start += 1 }
        while end > start, isAround(text[end - 1]) { end -= 1 }
        let after = text.array(end..<text.count)
        let lineBreaks: [[UInt8]] = [[], [0x0A], [0x0D, 0x0A]]
        if isNested, start > 0 || !lineBreaks.contains(after) {
            problems.append("it has white space or quotation marks around it")
        }
        return start..<end
    }

    // MARK: Formats

    private mutating func readJWS(_ text: Span<UInt8>) {
        let segments = text.array.split(
            separator: UInt8(ascii: "."), maxSplits: InspectionLimits.segments,
            omittingEmptySubsequences: false)
        if segments.count != 3 {
            problems.append("a JWS has three segments between dots; this has \(segments.count)")
        }
        header = json(base64(Array(segments[0]), "header"), "header")
        if let header { readChain(header.root) }
        if segments.count > 1 {
            let octets = base64(Array(segments[1]), "payload")
            payload = json(octets, "payload")
            if payload == nil { payloadText = Self.text(octets.span) }
        }
        if segments.count > 2 {
            let size = base64(Array(segments[2]), "signature").count
            if size != ES256Signature.size {
                problems.append("the signature has \(size) octets; one of ES256 has 64")
            }
        }
    }

    private mutating func readChain(_ header: JSONValue) {
        guard let entries = header["x5c"]?.elements else {
            problems.append("the header has no list x5c of certificates")
            return
        }
        for (index, entry) in entries.enumerated() {
            guard index < InspectionLimits.certificates else {
                problems.append("x5c has more than \(index) certificates")
                return
            }
            let octets = base64(Array((entry.string ?? "").utf8), "certificate \(index + 1)")
            certificates.append(InspectedCertificate(octets))
        }
    }

    private mutating func readAppReceipt(_ text: Span<UInt8>) {
        let isDER = text.count > 0 && text[0] == Tag.sequence.rawValue
        let octets = isDER ? text.array : base64(text.array, "receipt")
        var reader = SignedDataReader(content: InspectedContent())
        var feeder = ChunkFeeder()
        do throws(Refusal) {
            if try feeder.feed(octets.span, to: &reader) < octets.count {
                problems.append("bytes follow the receipt")
            } else if try !feeder.finish(&reader) {
                problems.append("the receipt ends too early")
            }
        } catch {
            problems.append(error.detail)
        }
        if let fault = reader.content.fault { problems.append(fault) }
        certificates = reader.certificates.map { InspectedCertificate($0) }
        if reader.content.hasContent {
            var receipt = reader.content.receipt
            recordCount = receipt.inApp.count
            receipt.inApp = receipt.inApp.newestShortened(wantedRecords)
            payload = try? JSONDocument.parse(receipt.json, limit: .max)
            self.receipt = receipt
        }
    }

    private mutating func readTransactionReceipt(_ text: Span<UInt8>) {
        let isText = text.count > 0 && text[0] == UInt8(ascii: "{")
        let octets = isText ? text.array : base64(text.array, "transaction receipt")
        guard let list = propertyList(octets, "transaction receipt") else {
            payloadText = Self.text(octets.span)
            return
        }
        header = Self.json(
            list.members.filter { $0.name != "signature" && $0.name != "purchase-info" })
        let signature = base64(Array((list["signature"] ?? "").utf8), "signature")
        do throws(Refusal) {
            let blob = try TransactionReceiptSignature(signature.span)
            certificates = [InspectedCertificate(blob.certificate)]
        } catch {
            problems.append(error.detail)
        }
        guard let info = list["purchase-info"] else {
            problems.append("it has no purchase-info")
            return
        }
        let signed = base64(Array(info.utf8), "purchase-info")
        payload = propertyList(signed, "purchase-info").flatMap { Self.json($0.members) }
        if payload == nil { payloadText = Self.text(signed.span) }
    }

    private mutating func readJSON(_ text: Span<UInt8>) {
        if let push = PushEnvelope.find(text) {
            (header, payload) = push.inspected
            return
        }
        if case .found(let purchase) = PurchaseEnvelope.find(text) { return read(purchase) }
        let isText = text.count > 0 && text[0] == UInt8(ascii: "{")
        let octets = isText ? text.array : base64(text.array, "JSON")
        payload = json(octets, "evidence")
        if payload == nil { payloadText = Self.text(octets.span) }
    }

    /// A purchase of another store: the text that is signed, and what is beside it.
    private mutating func read(_ purchase: PurchaseEnvelope) {
        payload = json(purchase.data, "signed text")
        if payload == nil { payloadText = Self.text(purchase.data.span) }
        var writer = JSONWriter()
        writer.object { object in
            object.member("wrapper", purchase.wrapper?.rawValue)
            object.member("signatureAlgorithm", purchase.algorithm)
            object.member("signature", String(decoding: purchase.signature, as: UTF8.self))
        }
        header = try? JSONDocument.parse(writer.text, limit: .max)
        let size = base64(purchase.signature, "signature").count
        if !InspectionLimits.signatures.contains(size) {
            problems.append(
                "the signature has \(size) octets; one by a key of 2048 bits has 256")
        }
    }

    /// Octets that are no JSON, shortened before they become text.
    private static func text(_ octets: Span<UInt8>) -> String {
        let count = min(octets.count, ExplanationLimits.textLength)
        let text = String(decoding: octets.array(0..<count), as: UTF8.self)
        return count < octets.count ? text + "… (\(octets.count) bytes)" : text
    }

    // MARK: Parts

    /// Decodes base64 in either alphabet up to the first fault.
    private mutating func base64(_ text: [UInt8], _ name: String) -> [UInt8] {
        let (octets, fault) = LenientBase64.decode(text.span)
        if let fault { problems.append("the \(name) is not base64 from offset \(fault) on") }
        return octets
    }

    private mutating func json(_ octets: [UInt8], _ name: String) -> JSONDocument? {
        do throws(JSONError) {
            return try JSONDocument.parse(octets, limit: InspectionLimits.jsonBytes)
        } catch {
            problems.append("the \(name) is not valid JSON: \(error)")
            return nil
        }
    }

    private mutating func propertyList(_ octets: [UInt8], _ name: String) -> TextPropertyList? {
        do throws(TextPropertyListError) {
            return try TextPropertyList(octets.span)
        } catch {
            problems.append("the \(name) is not a text property list: \(error)")
            return nil
        }
    }

    private static func json(_ members: [TextPropertyList.Member]) -> JSONDocument? {
        var writer = JSONWriter()
        writer.object { object in
            for member in members { object.member(member.name, member.value) }
        }
        return try? JSONDocument.parse(writer.text, limit: .max)
    }

    /// Inspects each string that looks like a JWS or an app receipt.
    private mutating func findNested(
        _ value: JSONValue, _ path: inout JSONPath, _ depth: Int, _ left: inout Int
    ) {
        guard left > 0 else { return }
        if let text = value.string {
            let bytes = Array(text.utf8)
            let shape = EvidenceShape.detect(bytes.span)
            let isLong = bytes.count >= InspectionLimits.shortestReceipt
            if shape == .jws || shape == .appReceipt && isLong {
                left -= 1
                nested.append(
                    Inspection(
                        bytes.span, member: path.makeText(), depth: depth + 1,
                        records: wantedRecords, nested: &left))
            }
        }
        for (name, value) in value.members?.pairs ?? [] where name != "x5c" {
            path.inMember(name) { findNested(value, &$0, depth, &left) }
        }
        guard let elements = value.elements else { return }
        for (index, element) in elements.enumerated() {
            path.inElement(index) { findNested(element, &$0, depth, &left) }
        }
    }
}

/// Bounds what a hostile file makes the inspection print.
enum InspectionLimits {
    /// An answer contains a notification, which contains a transaction; one more for a wrapper.
    static let depth = 3
    /// Evidence in members, at all depths together: the most signed members of a Server API answer.
    static let nested = 256
    /// Bytes of evidence that is no app receipt: the longest JSON in base64, and the white space
    /// around it.
    static let textBytes = 2 << 20
    /// Bytes of one JSON text. The verifier accepts none that is longer.
    static let jsonBytes = Limits.serverAnswerBytes
    /// Octets of signatures by keys of 1024 to 4096 bits.
    static let signatures = [128, 256, 384, 512]
    /// Apple's chains have three certificates.
    static let certificates = 16
    /// More than the three segments of a JWS, to count a few that are too many.
    static let segments = 9
    /// Shorter base64 that begins like DER is another value.
    static let shortestReceipt = 400
}

/// Decodes base64 and base64url, with or without padding and white space, up to the first fault.
enum LenientBase64 {
    /// - Returns: the octets, and the offset of the first other character.
    static func decode(_ text: Span<UInt8>) -> (octets: [UInt8], fault: Int?) {
        var octets: [UInt8] = []
        octets.reserveCapacity(text.count / 4 * 3 + 3)
        var bits: UInt32 = 0
        var count: UInt32 = 0
        for index in text.indices {
            let byte = text[index]
            if byte.isWhiteSpace || byte == UInt8(ascii: "=") { continue }
            guard let digit = Base64.value(of: byte) ?? Base64URL.value(of: byte) else {
                return (octets, index)
            }
            bits = bits << 6 | UInt32(digit)
            count += 6
            guard count >= 8 else { continue }
            count -= 8
            octets.append(UInt8(truncatingIfNeeded: bits >> count))
        }
        return (octets, nil)
    }
}

/// The content of a receipt. A fault in it does not end the reading of the certificates after it.
private struct InspectedContent: ContentReader {
    private var reader = AppReceiptReader(
        inApp: .all, expecting: .none, layouts: KnownLayouts().current)
    private(set) var fault: String?
    private(set) var hasContent = false

    var receipt: AppReceipt { reader.receiptSoFar }

    mutating func receive(
        _ octets: Span<UInt8>, hashingInto digests: inout ContentDigests
    ) throws(Refusal) {
        hasContent = true
        guard fault == nil else { return }
        do throws(Refusal) {
            try reader.receive(octets, hashingInto: &digests)
        } catch {
            fault = error.detail
        }
    }
}

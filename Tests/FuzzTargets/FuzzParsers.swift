import Assay
import AssayBytes
import AssayKeys
import AssayMint
import AssayModels
import AssayWire

/// The parsers, each on its own.
extension FuzzTarget {
    /// JSON: an accepted text is accepted again after encoding, and encodes the same.
    static let json = FuzzTarget(
        "JSON", seeds: FuzzSamples.payloads + FuzzSamples.json, words: FuzzSamples.words
    ) { bytes in
        guard let document = try? JSONDocument.parse(bytes) else { return }
        let text = written(document)
        guard let again = try? JSONDocument.parse(text) else {
            preconditionFailure("what was written does not parse")
        }
        precondition(written(again) == text, "written twice, it is not the same")
        checkWire(document)
    }

    /// Checks that each payload that the text decodes to survives the wire format unchanged.
    private static func checkWire(_ document: JSONDocument) {
        if let payload = try? document.decode(JWSTransactionDecodedPayload.self) {
            checkWire(.transaction(VerifiedPayload(payload, json: [])))
        }
        if let payload = try? document.decode(JWSRenewalInfoDecodedPayload.self) {
            checkWire(.renewalInfo(VerifiedPayload(payload, json: [])))
        }
        if let payload = try? document.decode(AppTransaction.self) {
            checkWire(.appTransaction(VerifiedPayload(payload, json: [])))
        }
        if let payload = try? document.decode(DecodedRealtimeRequestBody.self) {
            checkWire(.realtimeRequest(VerifiedPayload(payload, json: [])))
        }
        if let payload = try? document.decode(ResponseBodyV2DecodedPayload.self) {
            checkWire(
                .notification(
                    VerifiedNotification(
                        notification: VerifiedPayload(payload, json: []), transaction: nil,
                        renewalInfo: nil, appTransaction: nil)))
        }
    }

    private static func checkWire(_ evidence: VerifiedEvidence) {
        let verification = Verification(verdict: .valid, detail: "d", evidence: evidence)
        let head = ResponseHead(id: 1, result: .verification(verification))
        let codec = MessageCodec()
        var bytes: [UInt8] = []
        codec.encode(head, into: &bytes)
        precondition((try? codec.decodeResponse(bytes.span)) == head, "over the wire, another")
    }

    private static func written(_ document: JSONDocument) -> [UInt8] {
        var writer = JSONWriter()
        writer.value(document.root)
        return writer.text
    }

    /// Base64 is canonical: accepted text is the encoding of its bytes, in either alphabet. The
    /// streaming decoder returns the same bytes or the same error for every split of the text.
    static let base64 = FuzzTarget(
        "Base64",
        seeds: ["", "QQ==", "QUI=", "QUJD", "QQ", "-_-_", "+/+/", "QUJD\r\nQUJD\r\nQQ==\r\n"]
            .map { Array($0.utf8) }
    ) { bytes in
        if let decoded = try? Base64URL.decode(bytes) {
            precondition(bytes.equals(Base64URL.encode(decoded.span)), "base64url twice")
        }
        if let decoded = try? Base64.decode(bytes) {
            precondition(bytes.equals(Base64.encode(decoded.span)), "base64 twice")
            precondition(streamed(bytes, cuts: [bytes.count + 1]).bytes == decoded)
        }
        let own = bytes.array
        precondition((try? Base64URL.decode(Base64URL.encode(bytes).span)) == own)
        precondition((try? Base64.decode(Base64.encode(bytes).span)) == own)
        let whole = streamed(bytes, cuts: [bytes.count + 1])
        for cuts in [[1], [2, 3], [4], [5, 1, 7]] {
            let cut = streamed(bytes, cuts: cuts)
            precondition(
                cut.bytes == whole.bytes && cut.error == whole.error, "chunks change the answer")
        }
    }

    private static func streamed(
        _ text: Span<UInt8>, cuts: [Int]
    ) -> (bytes: [UInt8], error: Base64Error?) {
        var stream = Base64Stream()
        var decoded: [UInt8] = []
        do throws(Base64Error) {
            var (position, index) = (0, 0)
            while position < text.count {
                let end = min(position + cuts[index % cuts.count], text.count)
                try stream.decode(text.extracting(position..<end), into: &decoded)
                (position, index) = (end, index + 1)
            }
            try stream.finish(into: &decoded)
            return (decoded, nil)
        } catch {
            return (decoded, error)
        }
    }

    /// DER has one encoding: a parsed value encodes to the same bytes.
    static let der = FuzzTarget(
        "DER", seeds: FuzzSamples.der, mutate: { DERMutation.mutate($0, &$1) }
    ) { bytes in
        var reader = DERReader(bytes)
        walk(&reader, depth: 0)
        checkHeader(bytes)
        var time = DERReader(bytes)
        if let seconds = try? time.readTime() {
            precondition((-631_152_000..<253_402_300_800).contains(seconds) || seconds < 0)
        }
    }

    private static func walk(_ reader: inout DERReader, depth: Int) {
        while !reader.isAtEnd {
            guard let element = try? reader.readElement() else { return }
            let content = reader.bytes.array(element.content)
            let whole = reader.bytes.array(element.whole)
            let header = DERWriter.header(tag: element.tag.rawValue, count: content.count)
            precondition(header + content == whole, "read, and not DER")
            var number = DERReader(reader.bytes, range: element.whole)
            if let value = try? number.readInteger() {
                precondition(DERWriter.build { $0.integer(value) } == whole, "an INTEGER twice")
            }
            var boolean = DERReader(reader.bytes, range: element.whole)
            if let value = try? boolean.readBoolean() {
                precondition(DERWriter.build { $0.boolean(value) } == whole, "a BOOLEAN twice")
            }
            var bits = DERReader(reader.bytes, range: element.whole)
            if let octets = try? bits.readBitStringOctets() {
                precondition(octets.count == content.count - 1)
            }
            if element.tag.isConstructed, depth < 64 {
                var inside = reader.inside(element)
                walk(&inside, depth: depth + 1)
            }
        }
    }

    /// Checks that a DER header parses as BER too, and from no more bytes than its own.
    private static func checkHeader(_ bytes: Span<UInt8>) {
        guard let header = try? TLVHeader.decode(bytes, at: 0, rules: .der) else { return }
        let ber = try? TLVHeader.decode(bytes, at: 0, rules: .ber)
        precondition(ber == header, "DER, and not BER")
        precondition(header.size <= bytes.count)
        let exact = try? TLVHeader.decode(bytes.extracting(0..<header.size), at: 0, rules: .der)
        precondition(exact == header)
    }

    /// A certificate, in DER or PEM.
    static func certificate(_ authority: FuzzAuthority) -> FuzzTarget {
        let certificates =
            authority.tokens.chain.certificates + authority.receipts.chain.certificates
        let seeds = certificates + [PEM.encode(certificates[0], label: "CERTIFICATE")]
        return FuzzTarget("Certificate", seeds: seeds, mutate: { DERMutation.mutate($0, &$1) }) {
            bytes in
            guard let der = try? PEMDocument.certificate(bytes.array),
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
    }

    /// Concatenated signatures: 32 octets of digest and 64 of r and s each. A batch with the
    /// key's tables gives the same results, with each engine, as OpenSSL gives for each signature.
    static func signature(_ authority: FuzzAuthority) -> FuzzTarget {
        let key = authority.tokens.leafKey
        let point = Array(key.subjectPublicKeyInfo.suffix(65))
        let plain = publicKey(point)
        let engines = SignatureEngine.allCases.filter { $0.isSupported && $0 != .openssl }.map {
            engine in
            let key = publicKey(point)
            let tables = KeyTables(isEnabled: true, engine: engine)
            tables.note(key, held: Limits.keyTableUses)
            precondition(tables.buildPending() == 1)
            return (key: key, verifiers: ES256Verifiers(tables: tables))
        }
        let single = ES256Verifiers(tables: KeyTables(isEnabled: false))
        let seeds = (1...3).map { count in
            (0..<count).flatMap { index -> [UInt8] in
                let digest = SHA256.digest([UInt8(index)].span)
                return digest.octets.span.array
                    + ((try? key.signRaw(digest: digest.octets.span)) ?? [])
            }
        }
        return FuzzTarget("Signature", seeds: seeds) { bytes in
            let parts = min(bytes.count / 96, 70)
            func checks(_ key: PublicKey) -> [ES256Check] {
                (0..<parts).compactMap { part in
                    let start = part * 96
                    guard
                        let signature = ES256Signature(
                            bytes.extracting(start + 32..<start + 96))
                    else { return nil }
                    let digest = SHA256Digest(octets: .init { bytes[start + $0] })
                    return ES256Check(key: key, digest: digest, signature: signature)
                }
            }
            let expected = checks(plain).map { holds([$0], by: single)[0] }
            for engine in engines {
                let answers = holds(checks(engine.key), by: engine.verifiers)
                precondition(answers == expected, "EVP disagrees")
            }
        }
    }

    private static func publicKey(_ point: [UInt8]) -> PublicKey {
        guard let key = PublicKey.ec(.p256, point: point.span) else {
            preconditionFailure("the authority's leaf is of another curve")
        }
        return key
    }

    private static func holds(_ checks: [ES256Check], by verifiers: ES256Verifiers) -> [Bool] {
        verifiers.withVerifier { verifier in
            verifier.checks = checks
            verifier.verify()
            return verifier.holds
        }
    }
}

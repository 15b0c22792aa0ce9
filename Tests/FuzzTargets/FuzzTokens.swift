import Assay
import AssayBytes
import AssayKeys
import AssayMint
import AssayModels

/// JWS tokens: complete verifications.
extension FuzzTarget {
    /// The meaning of the bytes after the prefix, chosen by the first byte. All but `token` are
    /// signed at the time of use, so that the fuzzer gets past the signature.
    private enum Role: UInt8, CaseIterable {
        case token
        case payload
        case header
        /// The leaf or intermediate certificate of an otherwise valid chain.
        case leaf, intermediate
        /// The part of the certificate that its issuer signs (TBSCertificate).
        case leafBody, intermediateBody

        init(_ byte: UInt8) { self = Self.allCases[Int(byte) % Self.allCases.count] }
    }

    /// A token. First byte: the role of the rest. Second byte: the requested kind, and whether a
    /// device is expected.
    static func token(_ authority: FuzzAuthority) -> FuzzTarget {
        FuzzTarget(
            "Token", seeds: tokenSeeds(authority), words: FuzzSamples.words,
            mutate: { mutateToken($0, &$1, authority) }
        ) { bytes in
            guard bytes.count > 2 else { return }
            let role = Role(bytes[0])
            let kind = kind(bytes[1])
            let expectations = bytes[1] & 0x80 == 0 ? Expectations.none : FuzzAuthority.device
            guard let token = token(role, bytes.array(2..<bytes.count), authority) else { return }
            func verify() -> Verification {
                authority.verifier.verify(
                    token.span, as: kind, policy: FuzzAuthority.policy, expecting: expectations,
                    at: FuzzAuthority.now)
            }
            let answer = verify()
            precondition(verify() == answer, "the same bytes, another answer")
            switch role {
            case .token: authority.check(answer)
            case .payload, .header, .leafBody, .intermediateBody:
                FuzzAuthority.checkShape(answer)
            case .leaf, .intermediate: precondition(answer.verdict != .valid, "a forged chain")
            }
            _ = Verifier.likelyKind(of: token.span)
        }
    }

    private static func kind(_ byte: UInt8) -> EvidenceKind {
        FuzzAuthority.tokenKinds[Int(byte & 0x7F) % FuzzAuthority.tokenKinds.count]
    }

    private static func token(
        _ role: Role, _ bytes: [UInt8], _ authority: FuzzAuthority
    ) -> [UInt8]? {
        let payload = FuzzSamples.payloads[0]
        let ca = authority.tokens
        switch role {
        case .token: return bytes
        case .payload: return try? Minter(ca.chain).sign(bytes)
        case .header:
            let minter = Minter(key: ca.leafKey, header: MintedJWSHeader(raw: bytes))
            return try? minter.sign(payload)
        case .leaf, .intermediate, .leafBody, .intermediateBody:
            var chain = ca.chain
            let position = role == .leaf || role == .leafBody ? 0 : 1
            var der = bytes
            if role == .leafBody || role == .intermediateBody {
                guard let issuer = position == 0 ? ca.intermediateKey : ca.rootKey,
                    let signed = certificate(bytes, signedBy: issuer)
                else { return nil }
                der = signed
            } else if chain.certificates[position] == bytes {
                return nil
            }
            chain.certificates[position] = der
            return try? Minter(chain).sign(payload)
        }
    }

    private static func certificate(_ body: [UInt8], signedBy key: SigningKey) -> [UInt8]? {
        guard let signature = try? key.sign(body, digest: .sha384) else { return nil }
        return DERWriter.build { writer in
            writer.sequence {
                $0.raw(body)
                $0.raw(SigningAlgorithm.ecdsaWithSHA384.der)
                $0.bitString(signature)
            }
        }
    }

    private static func tokenSeeds(_ authority: FuzzAuthority) -> [[UInt8]] {
        let ca = authority.tokens
        var seeds: [[UInt8]] = []
        func add(_ role: Role, _ kind: Int, _ bytes: [UInt8]) {
            seeds.append([role.rawValue, UInt8(kind)] + bytes)
        }
        for (index, kind) in FuzzAuthority.tokenKinds.enumerated() {
            for item in authority.genuine where item.kind == kind {
                add(.token, index, item.bytes)
            }
            add(.payload, index, FuzzSamples.payloads[index])
        }
        for sample in FuzzSamples.json {
            for kind in [0, 1, 3, 0x80] { add(.payload, kind, sample) }
        }
        add(.header, 0, MintedJWSHeader(certificates: ca.chain.certificates).json)
        add(.header, 0, Array("{}".utf8))
        for (certificate, role, body) in [
            (ca.leafCertificate, Role.leaf, Role.leafBody),
            (ca.intermediateCertificate, .intermediate, .intermediateBody),
        ] {
            add(role, 0, certificate)
            var reader = DERReader(certificate.span)
            guard var inside = try? reader.readInside(.sequence),
                let element = try? inside.readElement()
            else { continue }
            add(body, 0, Array(certificate[element.whole]))
        }
        add(.token, 0, Array("e30.e30.AAAA".utf8))
        add(.token, 3, Array(#"{"signedPayload":"e30.e30.AAAA"}"#.utf8))
        return seeds
    }

    private static func mutateToken(
        _ input: [UInt8], _ mutation: inout FuzzMutation, _ authority: FuzzAuthority
    ) -> [UInt8] {
        guard input.count > 2, !mutation.once(in: 16) else { return mutation.usual(input) }
        let bytes = Array(input[2...])
        let changed =
            switch Role(input[0]) {
            case .token: TokenMutation.mutate(bytes, &mutation, authority)
            case .payload, .header: mutation.usual(bytes)
            case .leaf, .intermediate, .leafBody, .intermediateBody:
                DERMutation.mutate(bytes, &mutation)
            }
        return input[..<2] + changed
    }
}

/// Mutates the decoded segments of a token, and combines segments of several tokens.
enum TokenMutation {
    private static let stop = UInt8(ascii: ".")

    static func mutate(
        _ token: [UInt8], _ mutation: inout FuzzMutation, _ authority: FuzzAuthority
    ) -> [UInt8] {
        var segments = token.split(separator: stop, omittingEmptySubsequences: false).map(
            Array.init)
        guard segments.count > 1, !mutation.once(in: 8) else { return mutation.usual(token) }
        let index = mutation.below(segments.count)
        switch mutation.below(7) {
        case 0: segments.remove(at: index)
        case 1: segments.insert(segments[index], at: index)
        case 2: segments.swapAt(index, mutation.below(segments.count))
        case 3:
            let other = mutation.element(of: authority.genuine.filter { $0.kind != .appReceipt })
            let parts = other.bytes.split(separator: stop).map(Array.init)
            segments[index] = mutation.element(of: parts)
        case 4: segments[index] = mutation.usual(segments[index])
        default:
            let segment = segments[index]
            guard let decoded = try? Base64URL.decode(segment.span) else {
                segments[index] = mutation.usual(segment)
                break
            }
            let changed =
                decoded.count == 64
                ? mutation.usual(decoded) : text(decoded, &mutation, authority)
            segments[index] = Base64URL.encode(changed.span)
        }
        return Array(segments.joined(separator: [stop]))
    }

    /// Mutates a header or a payload. The certificates in a header are mutated as certificates.
    private static func text(
        _ text: [UInt8], _ mutation: inout FuzzMutation, _ authority: FuzzAuthority
    ) -> [UInt8] {
        guard mutation.once(in: 2) else { return mutation.usual(text) }
        var parts = text.split(separator: UInt8(ascii: "\""), omittingEmptySubsequences: false)
            .map(Array.init)
        let index = mutation.below(parts.count)
        let part = parts[index]
        if let der = try? Base64.decode(part.span), der.count > 64 {
            let changed = DERMutation.mutate(der, &mutation)
            parts[index] = Base64.encode(changed.span)
        } else {
            parts[index] = mutation.usual(parts[index])
        }
        return Array(parts.joined(separator: [UInt8(ascii: "\"")]))
    }
}

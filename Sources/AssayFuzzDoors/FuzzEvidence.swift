import Assay
import AssayMint
import AssayModels

/// Whole verifications.
extension FuzzDoors {
    /// 2026-01-01T00:00:00Z.
    static let now = Timestamp(milliseconds: 1_767_225_600_000)
    static let bundle = "com.example.app"

    private struct Minted {
        let ca: DevelopmentCA
        let minter: Minter
        let verifier: Verifier

        init() throws {
            ca = try DevelopmentCA.make(at: FuzzDoors.now)
            minter = Minter(ca.chain)
            verifier = Verifier(
                trust: try TrustStore.empty.pinning(ca.rootCertificate, development: false))
        }
    }

    private static let minted: Minted = {
        do { return try Minted() } catch { fatalError("nothing minted: \(error)") }
    }()

    /// What the first byte says the rest is.
    private enum Role: UInt8, CaseIterable {
        case token
        /// A payload, to be signed: so that the fuzzer gets behind the signature.
        case payload
        /// A header, to be signed over.
        case header
        /// The leaf certificate of a chain that is otherwise good.
        case leaf
        case intermediate
    }

    private static let kinds: [EvidenceKind] = [
        .transaction, .renewalInfo, .appTransaction, .notification, .realtimeRequest,
    ]

    /// First byte: the role of the rest; second: the kind asked for.
    public static func jws(_ bytes: Span<UInt8>) {
        guard bytes.count > 2 else { return }
        let roles = Role.allCases
        let role = roles[Int(bytes[0]) % roles.count]
        let kind = kinds[Int(bytes[1]) % kinds.count]
        guard let token = token(role, bytes.array(2..<bytes.count)) else { return }
        let policy = Policy(bundleId: nil, environments: Set(StoreEnvironment.known))
        func verify() -> Verification {
            minted.verifier.verify(token.span, as: kind, policy: policy, at: now)
        }
        let answer = verify()
        precondition((answer.evidence != nil) == (answer.verdict == .valid))
        precondition(!answer.detail.isEmpty && answer.detail.utf8.count < 1000)
        precondition(verify() == answer, "the same bytes, another answer")
        if role == .token || role == .leaf || role == .intermediate {
            precondition(answer.verdict != .valid, "a fuzzer has no key")
        }
        _ = Verifier.likelyKind(of: token.span)
    }

    private static func token(_ role: Role, _ bytes: [UInt8]) -> [UInt8]? {
        switch role {
        case .token: return bytes
        case .payload: return try? minted.minter.sign(bytes)
        case .header:
            let minter = Minter(key: minted.ca.leafKey, header: JWSHeader(raw: bytes))
            return try? minter.sign(payload)
        case .leaf, .intermediate:
            var chain = minted.ca.chain
            let position = role == .leaf ? 0 : 1
            guard chain.certificates[position] != bytes else { return nil }
            chain.certificates[position] = bytes
            return try? Minter(chain).sign(payload)
        }
    }

    private static let payload = Samples.transaction(
        index: 1, bundleId: bundle, appAppleId: 1, environment: .production, signedDate: now)

    /// In pieces, the answer is that of the whole. Bytes of its middle say how it is cut, so that a
    /// receipt is an input as it is.
    public static func receipt(_ receipt: Span<UInt8>) {
        guard receipt.count >= 4 else { return }
        let middle = receipt.count / 2
        let cuts = (0..<4).map { Int(receipt[max(0, middle - $0)]) + 1 }
        let policy = Policy(bundleId: nil, environments: Set(StoreEnvironment.known))
        var whole = AppReceiptStream(apple, policy: policy)
        whole.receive(receipt)
        let answer = whole.finish(at: now)
        var stream = AppReceiptStream(apple, policy: policy)
        var (position, index) = (0, 0)
        while position < receipt.count {
            let end = min(position + cuts[index % 4], receipt.count)
            stream.receive(receipt.extracting(position..<end))
            (position, index) = (end, index + 1)
        }
        precondition(stream.finish(at: now) == answer, "in pieces, another answer")
        precondition((answer.evidence != nil) == (answer.verdict == .valid))
        _ = apple.verify(receipt, as: .transactionReceipt, policy: policy, at: now)
    }

    private static let apple = Verifier(trust: .apple)
}

/// Inputs to begin with.
extension FuzzDoors {
    private static let payloads: [[UInt8]] = [
        payload,
        Samples.renewalInfo(
            index: 1, bundleId: bundle, appAppleId: 1, environment: .production, signedDate: now),
        Samples.appTransaction(
            index: 1, bundleId: bundle, appAppleId: 1, environment: .production, signedDate: now),
        Samples.notification(
            index: 1, bundleId: bundle, appAppleId: 1, environment: .production, signedDate: now,
            signedTransactionInfo: "a.b.c", signedRenewalInfo: nil),
        Samples.realtimeRequest(
            index: 1, bundleId: bundle, appAppleId: 1, environment: .production, signedDate: now),
    ]

    public static var jsonSeeds: [[UInt8]] {
        payloads + [
            Array(#"[1,-0.5e+7,"\ud83d\ude00\n",true,false,null,{"a":{}},[]]"#.utf8),
            Array("{\"a\":1,\"\\u0061b\":[{}]}".utf8),
        ]
    }

    public static var base64Seeds: [[UInt8]] {
        ["", "QQ==", "QUI=", "QUJD", "QQ", "-_-_", "+/+/"].map { Array($0.utf8) }
    }

    public static var certificateSeeds: [[UInt8]] {
        minted.ca.chain.certificates
    }

    public static var jwsSeeds: [[UInt8]] {
        let header = JWSHeader(certificates: minted.ca.chain.certificates).json
        return payloads.enumerated().map { [Role.payload.rawValue, UInt8($0)] + $1 }
            + [
                [Role.header.rawValue, 0] + header, [Role.header.rawValue, 0] + "{}".utf8,
                [Role.leaf.rawValue, 0] + minted.ca.intermediateCertificate,
                [Role.intermediate.rawValue, 0] + minted.ca.leafCertificate,
                [Role.token.rawValue, 0] + "e30.e30.AAAA".utf8,
                [Role.token.rawValue, 3] + #"{"signedPayload":"e30.e30.AAAA"}"#.utf8,
            ]
    }

    public static var receiptSeeds: [[UInt8]] {
        let texts = ["MIAGCSqGSIb3DQEHAqCA", #"{"Store":"AppleAppStore","Payload":"MII="}"#]
        return texts.map { Array($0.utf8) }
    }
}

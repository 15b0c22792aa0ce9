@testable import Assay
import AssayBytes
import AssayMint
import AssayModels
import TestSupport
import Testing

@Suite struct DeviceBindingTests {
    /// Receipts from a known device: the identifier is a Mac's address or identifierForVendor.
    private static let devices: [(receipt: String, identifier: [UInt8])] = [
        ("prod-mindnodemac-20170904-0iap-2", octets("6c4008b5945e")),
        ("prod-mindnodepro-20160212-0iap", octets("6c4008b5945e")),
        ("sbx-manager-20151007-6iap", octets("7eb61f70e56d46f1ac3a84d1b43829d3")),
        ("sbx-mindnodetouch-20170911-0iap", octets("3b76a7bd8f5b46a4bcb1cce8dbd1b3cd")),
        ("sbx-purchasingexperiments-20230222-2iap", octets("e618109862dd433fbb94675d3815d263")),
    ]

    private static func octets(_ text: String) -> [UInt8] {
        let digits = Array(text).compactMap(\.hexDigitValue)
        return stride(from: 0, to: digits.count, by: 2).map {
            UInt8(digits[$0] << 4 | digits[$0 + 1])
        }
    }

    @Test(.enabled(if: Vectors.has("sk1/unified")))
    func appReceipts() throws {
        let verifier = Verifier(trust: .apple)
        let policy = Policy(bundleId: nil, environments: [.production, .sandbox])
        var count = 0
        for (name, identifier) in Self.devices {
            let receipt = try #require(Vectors.bytes("sk1/unified/\(name).der"))
            func verdict(_ identifier: [UInt8]) -> Verdict {
                verifier.verify(
                    receipt.span, as: .appReceipt, policy: policy,
                    expecting: Expectations(deviceIdentifier: identifier),
                    at: AppleTransactionReceiptTests.now
                ).verdict
            }
            #expect(verdict(identifier) == .valid, "\(name)")
            var other = identifier
            other[0] ^= 1
            #expect(verdict(other) == .mismatch, "\(name)")
            #expect(verdict([]) == .mismatch)
            #expect(verdict(Array(identifier.dropLast())) == .mismatch)
            #expect(verdict(identifier + [0]) == .mismatch)
            count += 1
        }
        try Vectors.report("receipts of known devices", count)
    }

    /// A Mac has several addresses, and its receipt is bound to one.
    @Test func oneOfSeveralDevices() {
        let mac: [UInt8] = [1, 2, 3, 4, 5, 6]
        let hash = SHA1.digest((mac + [7, 8]).span).octets.span.array
        var receipt = EvidenceClaims(kind: .appReceipt, environment: .production)
        receipt.deviceBinding = .receipt(
            ReceiptDeviceBinding(opaqueValue: [7], bundleIdOctets: [8], sha1Hash: hash))
        let transaction = EvidenceClaims(kind: .transaction, environment: .production)
        let others: [[UInt8]] = [[1, 2, 3, 4, 5, 7], [UInt8](repeating: 1, count: 16), []]
        let cases: [(first: [UInt8]?, others: [[UInt8]], isMatch: Bool)] = [
            (nil, [], true), (mac, [], true), (mac, others, true), (nil, [mac], true),
            (others[0], [mac], true), (others[0], others + [mac], true), ([], [mac], true),
            (others[0], [], false), (others[0], others, false), (nil, others, false),
            (nil, [[]], false), (Array(mac.dropLast()), [mac + [0]], false),
        ]
        for (first, others, isMatch) in cases {
            let expectations = Expectations(
                deviceIdentifier: first, otherDeviceIdentifiers: others)
            func verdict(_ claims: EvidenceClaims) -> Verdict {
                do throws(Refusal) {
                    try claims.check(expectations, effectiveDate: Timestamp(milliseconds: 0))
                    return .valid
                } catch {
                    return error.verdict
                }
            }
            #expect(verdict(receipt) == (isMatch ? .valid : .mismatch), "\(expectations)")
            let isExpected = first != nil || !others.isEmpty
            #expect(verdict(transaction) == (isExpected ? .mismatch : .valid))
        }
    }

    /// The hash covers the whole encoding of the bundle identifier. An identifier that does not
    /// have the length of a device's never matches, even where the concatenated octets are the
    /// same.
    @Test func receiptBinding() {
        let identifier = [UInt8](0..<16)
        let opaque: [UInt8] = [1, 2, 3]
        let bundle: [UInt8] = [0x0C, 0x01, 0x61]
        let all = identifier + opaque + bundle
        let hash = SHA1.digest(all.span).octets.span.array
        let binding = ReceiptDeviceBinding(
            opaqueValue: opaque, bundleIdOctets: bundle, sha1Hash: hash)
        func matches(_ binding: ReceiptDeviceBinding, _ identifier: [UInt8]) -> Bool {
            binding.matches(identifier.span)
        }
        #expect(matches(binding, identifier))
        var shifted = binding
        shifted.opaqueValue = Array(identifier.suffix(10)) + opaque
        let short = Array(identifier.prefix(6))
        // The hash does not cover the lengths, so a shorter identifier with a longer value
        // matches.
        #expect(matches(shifted, short))
        shifted.opaqueValue = Array(identifier.suffix(1)) + opaque
        let odd = Array(identifier.prefix(15))
        #expect(!matches(shifted, odd))
        var content = binding
        content.bundleIdOctets = [0x61]
        #expect(!matches(content, identifier))
        var empty = binding
        empty.sha1Hash = []
        #expect(!matches(empty, identifier))
    }

    private static let nonce = "48C8B92D-ce0d-4229-bedf-e61b4f9cfc92"
    private static let device = "7A4D0C3E-1B2F-4C6D-8E9F-0A1B2C3D4E5F"
    /// SHA-384 of the nonce and identifier in lower case, computed with another implementation.
    private static let digest = "3JuIc5qNE1ZRCQZCF2BxI6TnAh6fRktr8R2jpf6BnRYefLr4XwZgeJeccmrDgk9J"

    @Test func deviceVerification() {
        let binding = DeviceVerification(digest: Self.digest, nonce: Self.nonce)
        #expect(binding.matches(deviceVerificationId: Self.device))
        #expect(binding.matches(deviceVerificationId: Self.device.lowercased()))
        #expect(!binding.matches(deviceVerificationId: Self.nonce))
        #expect(!binding.matches(deviceVerificationId: ""))
        for digest in ["", "AAAA", String(Self.digest.dropLast(4)), Self.digest + "AAAA", "*"] {
            let other = DeviceVerification(digest: digest, nonce: Self.nonce)
            #expect(!other.matches(deviceVerificationId: Self.device), "\(digest)")
        }
        let exchanged = DeviceVerification(digest: Self.digest, nonce: Self.device)
        #expect(!exchanged.matches(deviceVerificationId: Self.nonce))
    }

    /// Transactions, renewal info and app transactions can contain the device verification.
    /// Without it the verdict is a mismatch.
    @Test func payloads() throws {
        let now = AppleTransactionReceiptTests.now
        let authority = try DevelopmentCA.make(at: now)
        let minter = Minter(authority.chain)
        let trust = try TrustStore.empty.pinning(authority.rootCertificate, development: true)
        let verifier = Verifier(trust: trust)
        func verdict(_ json: String, _ kind: EvidenceKind, _ expected: Expectations) throws
            -> Verdict
        {
            let token = try minter.sign(Array(json.utf8))
            return verifier.verify(
                token.span, as: kind, policy: Policy(bundleId: nil, environments: [.sandbox]),
                expecting: expected, at: now
            ).verdict
        }
        let bound =
            "\"deviceVerification\":\"\(Self.digest)\","
            + "\"deviceVerificationNonce\":\"\(Self.nonce)\","
        let date = "\"signedDate\":\(now.milliseconds)"
        let payloads: [(EvidenceKind, (String) -> String)] = [
            (
                .transaction,
                { "{\"transactionId\":\"1\",\"environment\":\"Sandbox\",\($0)\(date)}" }
            ),
            (.renewalInfo, { "{\"autoRenewStatus\":1,\"environment\":\"Sandbox\",\($0)\(date)}" }),
            (
                .appTransaction,
                {
                    "{\"receiptType\":\"Sandbox\",\"applicationVersion\":\"1\",\($0)"
                        + "\"receiptCreationDate\":\(now.milliseconds)}"
                }
            ),
        ]
        let here = Expectations(deviceVerificationId: Self.device)
        let elsewhere = Expectations(deviceVerificationId: Self.nonce)
        for (kind, payload) in payloads {
            #expect(try verdict(payload(bound), kind, here) == .valid, "\(kind)")
            #expect(try verdict(payload(bound), kind, elsewhere) == .mismatch, "\(kind)")
            #expect(try verdict(payload(""), kind, here) == .mismatch, "\(kind)")
            #expect(try verdict(payload(""), kind, .none) == .valid, "\(kind)")
            // An app receipt's device identifier does not apply to these kinds.
            let identifier = Expectations(deviceIdentifier: [UInt8](repeating: 1, count: 16))
            #expect(try verdict(payload(bound), kind, identifier) == .mismatch, "\(kind)")
        }
    }
}

import Assay
import AssayBytes
import AssayKeys
import AssayMint
import AssayModels

/// StoreKit 1 receipts: CMS, payload, and the transaction receipt.
extension FuzzTarget {
    /// A receipt. Reading it in slices gives the same answer as reading it whole. Bytes from its
    /// middle choose the slices, so that every receipt is an input as it is.
    static func receipt(_ authority: FuzzAuthority) -> FuzzTarget {
        let seeds =
            authority.genuine.filter { $0.kind == .appReceipt }.map(\.bytes)
            + variants(authority)
            + ["MIAGCSqGSIb3DQEHAqCA", #"{"Store":"AppleAppStore","Payload":"MII="}"#]
            .map { Array($0.utf8) }
        return FuzzTarget("Receipt", seeds: seeds, mutate: { mutateReceipt($0, &$1) }) { receipt in
            guard receipt.count >= 4 else { return }
            let middle = receipt.count / 2
            let cuts = (0..<4).map { Int(receipt[max(0, middle - $0)]) + 1 }
            let answer = answer(receipt, cuts: [receipt.count], authority)
            precondition(
                answer == self.answer(receipt, cuts: cuts, authority), "chunks change the answer")
            precondition(answer == self.answer(receipt, cuts: [1], authority), "byte by byte")
            authority.check(answer)
        }
    }

    static func answer(
        _ receipt: Span<UInt8>, cuts: [Int], _ authority: FuzzAuthority,
        inApp: InAppSelection = .all, expecting expectations: Expectations = .none
    ) -> Verification {
        var stream = AppReceiptStream(
            authority.verifier, policy: FuzzAuthority.policy, expecting: expectations,
            inApp: inApp)
        var (position, index) = (0, 0)
        while position < receipt.count {
            let end = min(position + cuts[index % cuts.count], receipt.count)
            stream.receive(receipt.extracting(position..<end))
            (position, index) = (end, index + 1)
        }
        return stream.finish(at: FuzzAuthority.now)
    }

    /// Receipts that are signed in other ways than Apple's.
    private static func variants(_ authority: FuzzAuthority) -> [[UInt8]] {
        let chain = authority.receipts.chain
        let payload = FuzzAuthority.receiptPayload(records: 3)
        let changes: [(inout SignedDataBuilder) -> Void] = [
            { $0.signers[0].signedAttributes = SignedAttributesBuilder(of: payload, .sha256) },
            { $0.crls = DERWriter.build { $0.sequence { $0.null() } } },
            { $0.isDetached = true },
            { $0.signers.append($0.signers[0]) },
            {
                $0.signers[0].identifier = SignerInfoBuilder.subjectKeyIdentifier(
                    [UInt8](repeating: 1, count: 20))
            },
        ]
        let minters = [
            ReceiptMinter(chain), ReceiptMinter(chain, digest: .sha1),
            ReceiptMinter(chain, encoding: .ber(segment: 37)),
        ]
        return minters.flatMap { minter in
            changes.compactMap { try? minter.sign(payload, changing: $0) }
        }
    }

    private static func mutateReceipt(
        _ input: [UInt8], _ mutation: inout FuzzMutation
    ) -> [UInt8] {
        guard input.first == UInt8(ascii: "M"), let der = try? Base64.decode(input.span) else {
            return DERMutation.mutate(input, &mutation)
        }
        let changed = DERMutation.mutate(der, &mutation)
        return Base64.encode(changed.span)
    }

    /// A receipt's payload, signed at the time of use. First byte: its wrapping and the options
    /// of the verification.
    static func receiptPayload(_ authority: FuzzAuthority) -> FuzzTarget {
        let payloads = [0, 1, 4].map { FuzzAuthority.receiptPayload(records: $0) }
        let minters = [
            ReceiptMinter(authority.receipts.chain),
            ReceiptMinter(authority.receipts.chain, encoding: .ber(segment: 13)),
        ]
        let selections: [InAppSelection] = [.all, .latest, .none, .product("com.example.app.gold")]
        return FuzzTarget(
            "ReceiptPayload",
            seeds: payloads.flatMap { payload in [0, 3, 5, 8].map { [$0] + payload } },
            mutate: { input, mutation in
                guard input.count > 1, !mutation.once(in: 16) else { return mutation.usual(input) }
                return input[..<1] + DERMutation.mutate(Array(input[1...]), &mutation)
            }
        ) { bytes in
            guard bytes.count > 1 else { return }
            let way = Int(bytes[0])
            guard let receipt = try? minters[way % 2].sign(bytes.array(1..<bytes.count)) else {
                preconditionFailure("not signed")
            }
            let selection = selections[way / 2 % 4]
            let expectations = way & 8 == 0 ? Expectations.none : FuzzAuthority.device
            let answer = answer(
                receipt.span, cuts: [receipt.count], authority, inApp: selection,
                expecting: expectations)
            let cut = self.answer(
                receipt.span, cuts: [7, 1, 64], authority, inApp: selection,
                expecting: expectations)
            precondition(answer == cut, "chunks change the answer")
            FuzzAuthority.checkShape(answer)
            checkVerifyReceipt(answer)
        }
    }

    private static func checkVerifyReceipt(_ answer: Verification) {
        let text = verifyReceiptResponse(for: answer, requestDate: FuzzAuthority.now)
        let parsed = (try? JSONDocument.parse(text)) != nil
        precondition(parsed || text.count > JSONLimits.size, "verifyReceipt's answer is no JSON")
    }

    /// A transaction receipt. First byte: 0 for the whole text, 1 for its purchase info, signed
    /// at the time of use, 2 for the leaf.
    static func transactionReceipt(_ authority: FuzzAuthority) -> FuzzTarget {
        let receipt = FuzzTransactionReceipt(authority.receipts)
        let whole = authority.genuine(.transactionReceipt)
        let seeds =
            [[0] + whole, [1] + FuzzTransactionReceipt.usual, [2] + receipt.leaf]
            + [[0] + Base64.encode(whole.span)]
        return FuzzTarget(
            "TransactionReceipt", seeds: seeds, words: FuzzTransactionReceipt.words,
            mutate: { input, mutation in
                guard input.first.map({ $0 % 3 == 2 }) == true else { return mutation.usual(input) }
                return [2] + DERMutation.mutate(Array(input.dropFirst()), &mutation)
            }
        ) { bytes in
            guard bytes.count > 1 else { return }
            let rest = bytes.array(1..<bytes.count)
            var minted = receipt
            switch bytes[0] % 3 {
            case 0: break
            case 1: minted.purchaseInfo = rest
            default:
                guard rest != minted.leaf else { return }
                minted.leaf = rest
            }
            let text = bytes[0] % 3 == 0 ? rest : minted.text
            let answer = authority.verifier.verify(
                text.span, as: .transactionReceipt, policy: FuzzAuthority.policy,
                at: FuzzAuthority.now)
            if bytes[0] % 3 == 1 {
                FuzzAuthority.checkShape(answer)
            } else {
                authority.check(answer)
            }
            checkVerifyReceipt(answer)
        }
    }
}

/// The property list of one purchase, as iOS 3 to 6 wrote it.
struct FuzzTransactionReceipt {
    var purchaseInfo = Self.usual
    var leaf: [UInt8]
    private let key: SigningKey

    init(_ ca: ReceiptCA) {
        leaf = ca.leafCertificate
        key = ca.leafKey
    }

    static let usual = list([
        ("original-transaction-id", "1000000000000001"), ("transaction-id", "1000000000000002"),
        ("bid", FuzzAuthority.bundle), ("product-id", "gold"), ("quantity", "1"), ("bvrs", "1.0"),
        // Within the validity of the authority's leaf.
        ("purchase-date", "2027-01-01 00:00:00 Etc/GMT"), ("purchase-date-ms", "1798761600000"),
    ])

    static let words = [
        "\"signature\" = \"", "\"purchase-info\" = \"", "\";\n", "\\U00e9", "\"environment\"",
        "\"pod\"", "\"signing-status\"", "\"purchase-date-ms\"", "\"expires-date\"",
        "\"expires-date-formatted\"", "\"cancellation-date\"", "\"original-purchase-date-ms\"",
        "\"item-id\"", "\"quantity\"", "Etc/GMT", "America/Los_Angeles",
    ]

    private static func list(_ members: [(name: String, value: String)]) -> [UInt8] {
        let lines = members.map { "\t\"\($0.name)\" = \"\($0.value)\";\n" }
        return Array(("{\n" + lines.joined() + "}").utf8)
    }

    var text: [UInt8] {
        let version: UInt8 = 3
        guard let signature = try? key.sign([version] + purchaseInfo, digest: .sha1) else {
            preconditionFailure("not signed")
        }
        let length = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: leaf.count >> $0) }
        func base64(_ bytes: [UInt8]) -> String {
            String(decoding: Base64.encode(bytes.span), as: UTF8.self)
        }
        return Self.list([
            ("signature", base64([version] + signature + length + leaf)),
            ("purchase-info", base64(purchaseInfo)), ("environment", "Sandbox"), ("pod", "100"),
            ("signing-status", "0"),
        ])
    }
}

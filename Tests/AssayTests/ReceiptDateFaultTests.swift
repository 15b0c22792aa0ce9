import Assay
import AssayMint
import AssayModels
import TestSupport
import Testing

/// A receipt with an invalid date is refused with its attribute, its record and its text.
@Suite("Receipts with an invalid date")
struct ReceiptDateFaultTests {
    private typealias Minted = MintedReceipts

    struct Case: CustomTestStringConvertible {
        let testDescription: String
        /// The date of the attribute 18.
        var outer = "2013-08-01T07:00:00Z"
        /// The dates of the in-app records: attribute and text of each.
        var records: [[(Int64, String)]] = []
        /// What follows "the receipt's payload is invalid: "; nil if the receipt is valid.
        let fault: String?

        init(
            _ description: String, outer: String = "2013-08-01T07:00:00Z",
            _ records: [(Int64, String)]..., fault: String?
        ) {
            testDescription = description
            self.outer = outer
            self.records = records
            self.fault = fault
        }
    }

    private static let good: (Int64, String) = (1704, "2020-08-06T22:08:32Z")
    private static let form = "it is not of the form YYYY-MM-DDThh:mm:ssZ (RFC 3339)"

    static let cases = [
        Case("valid dates", [good], [good, (1708, "2020-08-06T22:08:32.5+01:00")], fault: nil),
        Case("an empty date", outer: "", [(1712, "")], fault: nil),
        Case(
            "a space", [(1704, "2020-08-06 22:08:32Z")],
            fault: "attribute 1704 (purchase date) of in-app record 1 is "
                + "\"2020-08-06 22:08:32Z\": \(form)"),
        Case(
            "the third record", [good], [good], [good, (1706, "never")],
            fault:
                "attribute 1706 (original purchase date) of in-app record 3 is \"never\": \(form)"),
        Case(
            "no such day", [good, (1708, "2021-02-29T00:00:00Z")],
            fault: "attribute 1708 (expiration date) of in-app record 1 is "
                + "\"2021-02-29T00:00:00Z\": there is no such day or time"),
        Case(
            "a cancellation", [good, (1712, "2020-08-06T22:08Z")],
            fault: "attribute 1712 (cancellation date) of in-app record 1 is "
                + "\"2020-08-06T22:08Z\": \(form)"),
        Case(
            "the receipt's own date", outer: "2013-08-01", [good],
            fault: "attribute 18 (original purchase date) is \"2013-08-01\": \(form)"),
        Case(
            "a long text", [(1704, String(repeating: "9", count: 100))],
            fault: "attribute 1704 (purchase date) of in-app record 1 is "
                + "\"\(String(repeating: "9", count: 64))\": \(form)"),
        Case(
            "control characters", [(1704, "\u{1B}[31m\n")],
            fault: "attribute 1704 (purchase date) of in-app record 1 is \"?[31m?\": \(form)"),
        Case(
            "the first of two", [(1704, "a"), (1706, "b")],
            fault: "attribute 1704 (purchase date) of in-app record 1 is \"a\": \(form)"),
    ]

    @Test("The detail names attribute, record and value", arguments: cases)
    func details(test: Case) throws {
        func date(_ type: Int64, _ text: String) -> ReceiptAttribute {
            ReceiptAttribute(
                type: type, version: 1, value: [0x16, UInt8(text.utf8.count)] + Array(text.utf8))
        }
        var payload = ReceiptPayload()
        for attribute in Minted.sample().attributes where ![17, 18].contains(attribute.type) {
            payload.append(attribute)
        }
        for record in test.records {
            payload.append(ReceiptPayload.inApp(record.map { date($0.0, $0.1) }))
        }
        payload.append(date(18, test.outer))
        let receipt = try HostileReceipts.minter().sign(payload.bytes)
        let verification = try Minted.verifier().verify(
            receipt.span, as: .appReceipt, policy: Minted.policy, at: Minted.now)
        guard let fault = test.fault else {
            #expect(verification.verdict == .valid, "\(verification.detail)")
            return
        }
        #expect(verification.verdict == .malformed)
        #expect(verification.detail == "the receipt's payload is invalid: " + fault)
        // The inspection finds the same.
        #expect(Inspection(receipt.span).problems == [verification.detail])
    }

    @Test("A value that is no date has the error of its encoding")
    func others() throws {
        var payload = ReceiptPayload()
        for attribute in Minted.sample().attributes where attribute.type != 18 {
            payload.append(attribute)
        }
        payload.append(ReceiptAttribute(type: 18, version: 1, value: [0x02, 0x01, 0x00]))
        let receipt = try HostileReceipts.minter().sign(payload.bytes)
        let verification = try Minted.verifier().verify(
            receipt.span, as: .appReceipt, policy: Minted.policy, at: Minted.now)
        #expect(verification.detail.contains("payload is invalid: tag 0x02 at offset"))
    }

    /// Dates of receipts from public reports.
    @Test(
        "Dates from reports",
        .enabled(if: Vectors.has(cases: "receipts", suffix: ".der")))
    func reports() throws {
        let root = try #require(Vectors.bytes(Vectors.cases("receipts", suffix: "root.pem")[0]))
        let trust = try TrustStore.empty.pinning(root, development: false)
        let verifier = Verifier(trust: trust, keyTables: .never)
        var count = 0
        for path in Vectors.cases("receipts", suffix: ".der") {
            let name = String(path.split(separator: "/").last ?? "")
            guard name.hasPrefix("date-") || name.hasPrefix("created-") else { continue }
            let receipt = try #require(Vectors.bytes(path))
            let found = verifier.verify(
                receipt.span, as: .appReceipt,
                policy: Policy(bundleId: nil, environments: [.production, .sandbox]),
                at: Timestamp(milliseconds: 1_795_305_600_000))
            let isDate = name != "date-buy-space.der"
            #expect(found.verdict == (isDate ? .valid : .malformed), "\(name): \(found.detail)")
            if !isDate {
                #expect(
                    found.detail
                        == "the receipt's payload is invalid: attribute 1704 (purchase date) of "
                        + "in-app record 1 is \"2020-08-06 22:08:32Z\": \(Self.form)")
            }
            count += 1
        }
        try Vectors.report("receipts with unusual dates", count)
    }
}

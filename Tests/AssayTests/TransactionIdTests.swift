import Assay
import AssayBytes
import AssayMint
import AssayModels
import TestSupport
import Testing

/// The identifier by which evidence finds its customer.
@Suite("Transaction id of evidence") struct TransactionIdTests {
    private static func id(_ text: String) -> String? {
        Inspection.transactionId(of: Array(text.utf8).span)
    }

    /// A token whose signature is none: it counts for nothing here.
    private static func token(_ payload: String) -> String {
        func encoded(_ text: String) -> String {
            String(decoding: Base64URL.encode(Array(text.utf8).span), as: UTF8.self)
        }
        return encoded(#"{"alg":"ES256","x5c":[]}"#) + "." + encoded(payload) + "."
            + encoded(String(repeating: "s", count: 64))
    }

    @Test("tokens, notifications and answers name it; of several the newest counts")
    func tokens() {
        let old = Self.token(#"{"transactionId":"8","purchaseDate":5}"#)
        let new = Self.token(#"{"transactionId":"7","originalTransactionId":"1","purchaseDate":6}"#)
        let renewal = Self.token(#"{"originalTransactionId":"6","signedDate":9}"#)
        let app = Self.token(#"{"appTransactionId":"70428957231","bundleId":"b"}"#)
        let request = Self.token(#"{"originalTransactionId":"99371282","productId":"p"}"#)
        for (text, expected) in [
            (old, "8"), (new, "7"), (renewal, "6"), (app, "70428957231"), (request, "99371282"),
            (#"{"signedTransactions":["\#(old)","\#(new)"]}"#, "7"),
            (#"{"signedTransactions":["\#(new)","\#(old)"]}"#, "7"),
            (#"{"data":[{"lastTransactions":[{"signedTransactionInfo":"\#(old)"}]}]}"#, "8"),
            (
                #"{"signedPayload":""#
                    + Self.token(
                        #"{"notificationType":"X","data":{"signedTransactionInfo":"\#(old)"}}"#)
                    + #""}"#, "8"
            ),
            (Self.token(#"{"transactionId":""}"#), nil), (Self.token(#"{"transactionId":8}"#), nil),
            (Self.token("{}"), nil), ("", nil), ("{}", nil), ("hello", nil), ("a.b.c", nil),
            (#"{"signedTransactions":[]}"#, nil),
        ] as [(String, String?)] {
            #expect(Self.id(text) == expected, "\(text)")
        }
    }

    @Test(
        "receipts give the ids that Apple's ReceiptUtility gives",
        .enabled(if: Vectors.has("apple-lib/xcode", "apple-lib/mock_signed_data")))
    func vectors() throws {
        for (file, expected) in [
            ("xcode/xcode-app-receipt-empty", nil),
            ("xcode/xcode-app-receipt-with-transaction", "0"),
            ("mock_signed_data/legacyTransaction", "33993399"),
        ] as [(String, String?)] {
            let bytes = try #require(Vectors.bytes("apple-lib/" + file))
            #expect(Inspection.transactionId(of: bytes.span) == expected, "\(file)")
        }
    }

    @Test("of a receipt's records the newest purchase counts")
    func receipts() throws {
        var sample = ReceiptSample(bundleId: "com.example.game", creationDate: MintedReceipts.now)
        sample.records = .bytes(20_000)
        let bytes = try ReceiptMinter(MintedReceipts.ca.get().chain).sign(sample.payload)
        let records = try #require(Inspection(bytes.span, records: 1_000).receipt?.inApp)
        var newest: (id: String?, date: Timestamp)?
        for record in records {
            let date = try #require(record.purchaseDate)
            if newest == nil || date > newest!.date { newest = (record.transactionId, date) }
        }
        #expect(records.count > 10)
        #expect(Inspection.transactionId(of: bytes.span) == newest?.id)
    }
}

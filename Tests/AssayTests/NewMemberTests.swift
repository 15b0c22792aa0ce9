@testable import Assay
import AssayBytes
import AssayModels
import Testing

/// Members of Apple's payloads that are newer than the examples of Apple's libraries.
@Suite struct NewMemberTests {
    private func decode<Payload: PayloadObject>(
        _ text: String, as type: Payload.Type = Payload.self
    ) throws(JSONError) -> Payload {
        try JSONDocument.parse([UInt8](text.utf8)).decode(type)
    }

    @Test func transaction() throws {
        let payload: JWSTransactionDecodedPayload = try decode(
            """
            {"previousOriginalTransactionId":"1","bundleProductID":"b","bundleSubscriptionGroupID":\
            "2","bundleTransactionID":"3","bundleOriginalTransactionID":"4","offerType":5,\
            "type":"Some Bundle","inAppOwnershipType":"LATER"}
            """)
        #expect(payload.previousOriginalTransactionId == "1" && payload.bundleProductID == "b")
        #expect(payload.bundleSubscriptionGroupID == "2" && payload.bundleTransactionID == "3")
        #expect(payload.bundleOriginalTransactionID == "4" && payload.offerType == .retention)
        // The spelling of these values is unconfirmed: the text is kept.
        #expect(payload.type?.rawValue == "Some Bundle")
        #expect(payload.inAppOwnershipType?.rawValue == "LATER")
    }

    @Test func renewalInfo() throws {
        let payload: JWSRenewalInfoDecodedPayload = try decode(
            """
            {"bundleProductID":"b","bundleSubscriptionGroupID":"2",\
            "bundleOriginalTransactionID":"4","willUnbundle":true}
            """)
        #expect(payload.bundleProductID == "b" && payload.bundleSubscriptionGroupID == "2")
        #expect(payload.bundleOriginalTransactionID == "4" && payload.willUnbundle == true)
    }

    @Test func externalPurchaseToken() throws {
        for (text, type) in [
            ("SERVICES", ExternalPurchaseTokenType.services), ("ACQUISITION", .acquisition),
            ("LATER", .init(rawValue: "LATER")),
        ] {
            let token: ExternalPurchaseToken = try decode(
                #"{"tokenType":"\#(text)","tokenExpirationDate":1698148900000}"#)
            #expect(token.tokenType == type && token.tokenExpirationDate == 1_698_148_900_000)
        }
    }

    @Test func appTransaction() throws {
        let payload: AppTransaction = try decode(
            #"{"storeType":"CONSUMER","revocationDate":1698148900000}"#)
        #expect(payload.storeType == .consumer)
        #expect(payload.revocationDate == Timestamp(milliseconds: 1_698_148_900_000))
    }

    /// Apple's spelling of the bundle members is unconfirmed: both are read, the first one wins.
    @Test func spellingsOfBundleMembers() throws {
        for (text, expected) in [
            (#"{"bundleProductId":"a"}"#, "a"), (#"{"bundleProductID":"b"}"#, "b"),
            (#"{"bundleProductId":"a","bundleProductID":"b"}"#, "b"),
            (#"{"bundleProductId":"a","bundleProductID":null}"#, "a"),
            (#"{"bundleproductid":"a"}"#, nil),
        ] {
            let transaction: JWSTransactionDecodedPayload = try decode(text)
            #expect(transaction.bundleProductID == expected, "\(text)")
            let renewal: JWSRenewalInfoDecodedPayload = try decode(text)
            #expect(renewal.bundleProductID == expected, "\(text)")
        }
        for text in [#"{"bundleProductId":1}"#, #"{"bundleProductID":{},"bundleProductId":"a"}"#] {
            #expect(throws: JSONError.self) {
                try decode(text, as: JWSTransactionDecodedPayload.self)
            }
        }
    }

    /// An app transaction that was revoked is not taken for a transaction.
    @Test func kindOfARevokedAppTransaction() {
        let payload = Fixture.payload(
            .appTransaction, changing: ["revocationDate": "\(Fixture.now.milliseconds)"])
        let token = Fixture.token(payload)
        #expect(Verifier.likelyKind(of: token.span) == .appTransaction)
        Fixture.expect(Fixture.verify(token, as: .appTransaction), .valid)
        Fixture.expect(Fixture.verify(token, as: .transaction), .wrongKind)
    }
}

import AssayMint
import AssayModels

/// Seeds, and words that occur in them.
enum FuzzSamples {
    private static let bundle = FuzzAuthority.bundle
    private static let now = FuzzAuthority.now

    /// In the order of `FuzzAuthority.tokenKinds`.
    static let payloads: [[UInt8]] = [
        Samples.transaction(
            index: 1, bundleId: bundle, appAppleId: 1, environment: .production, signedDate: now),
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

    static let json: [[UInt8]] = [
        #"[1,-0.5e+7,"\ud83d\ude00\n",true,false,null,{"a":{}},[]]"#,
        #"{"a":1,"\u0061b":[{}]}"#,
        #"{"notificationType":"TEST","data":{"bundleId":"a","environment":"Sandbox"}}"#,
        #"{"summary":{"bundleId":"a","environment":"Production","productId":"b"}}"#,
        #"{"externalPurchaseToken":{"externalPurchaseId":"SANDBOX_1","bundleId":"a"}}"#,
        #"{"appData":{"signedAppTransactionInfo":"a.b.c","bundleId":"a"}}"#,
        transaction(
            """
            "commitmentInfo":{"billingPeriodNumber":1,"commitmentExpiresDate":1798761600000,\
            "commitmentPrice":1,"totalBillingPeriods":12},"billingPlanType":"MONTHLY",\
            "deviceVerification":"AAAA","deviceVerificationNonce":\
            "00000000-0000-0000-0000-000000000000","advancedCommerceInfo":{"descriptors":\
            {"description":"a","displayName":"b"},"estimatedTax":1,"items":[{"SKU":"a",\
            "description":"a","displayName":"b","offer":{"period":"P1M","periodCount":1,\
            "price":1,"reason":"ACQUISITION"},"price":1,"refunds":[{"refundAmount":1,\
            "refundDate":1,"refundReason":"OTHER","refundType":"FULL"}],"revocationDate":1}],\
            "period":"P1M","requestReferenceId":"a","taxCode":"a","taxExclusivePrice":1,\
            "taxRate":"0"}
            """),
        transaction(
            """
            "commitmentInfo":{"commitmentAutoRenewProductId":"a","commitmentAutoRenewStatus":1,\
            "commitmentRenewalBillingPlanType":"MONTHLY","commitmentRenewalDate":1,\
            "commitmentRenewalPrice":1},"advancedCommerceInfo":{"consistencyToken":"a",\
            "descriptors":{"description":"a","displayName":"b"},"items":[{"SKU":"a",\
            "priceIncreaseInfo":{"dependentSKUs":["a"],"price":1,"status":"PENDING"}}]}
            """),
        // More members than the parser compares in pairs.
        transaction((0..<60).map { #""\u0061member\#($0)":\#($0)"# }.joined(separator: ",")),
        transaction((0..<60).map { #""m\#($0 % 59)":null"# }.joined(separator: ",")),
    ].map { Array($0.utf8) }

    /// The first members of a transaction, followed by these.
    private static func transaction(_ members: String) -> String {
        #"{"transactionId":"1","originalTransactionId":"1","bundleId":"\#(bundle)","#
            + #""environment":"Production","signedDate":1798761600000,"# + members + "}"
    }

    static let words = [
        #""bundleId""#, #""environment""#, #""Sandbox""#, #""Production""#, #""Xcode""#,
        #""LocalTesting""#, #""transactionId""#, #""signedDate""#, #""receiptCreationDate""#,
        #""signedTransactionInfo""#, #""signedRenewalInfo""#, #""signedAppTransactionInfo""#,
        #""appAppleId""#, #""data""#, #""summary""#, #""externalPurchaseToken""#, #""appData""#,
        #""notificationType""#, #""advancedCommerceInfo""#, #""revocationDate""#, #""alg""#,
        #""ES256""#, #""x5c""#, #""crit""#, "1798761600000", #"\u0061"#, #"\ud83d\ude00"#,
        "1e999", "-0", "9007199254740993", "null", "true", "false",
    ]

    static let der: [[UInt8]] = [
        DERWriter.build { writer in
            writer.sequence {
                $0.integer(-129)
                $0.boolean(true)
                $0.null()
                $0.oid("1.2.840.113635.100.6.11.1")
                $0.set { $0.utf8String("a") }
                $0.bitString([1, 2])
                $0.context(0) { $0.octetString([UInt8](repeating: 7, count: 200)) }
            }
        },
        DERWriter.build { $0.constructedOctetString([[1, 2, 3], [4]]) },
        Array("\u{17}\u{0D}261121000000Z".utf8),
        Array("\u{18}\u{0F}20501121000000Z".utf8),
    ]
}

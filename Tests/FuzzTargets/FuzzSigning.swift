import Assay
import AssayBytes
import AssayKeys
import AssayMint
import AssayModels
import AssayStore

/// What a signer reads: key files, and requests for signatures.
extension FuzzTarget {
    /// A key file. Invariants: nobody crashes, and a refusal contains no byte run of the file.
    static var keyFile: FuzzTarget {
        let pem = (try? SigningKey(generating: .p256).pkcs8()).map {
            PEM.encode($0, label: "PRIVATE KEY")
        }
        let text = String(decoding: pem ?? [], as: UTF8.self)
        let seeds = [
            text, text.replacing("\n", with: "\\n"), "\"\(text)\"", text.replacing("\n", with: " "),
            String(decoding: Base64.encode(Array(text.utf8).span), as: UTF8.self),
            "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "<html>", "{}",
        ]
        return FuzzTarget(
            "KeyFile", seeds: seeds.map { Array($0.utf8) },
            words: ["-----BEGIN ", "-----END ", "PRIVATE KEY-----", "ENCRYPTED", "\\n", "\u{FEFF}"]
        ) { bytes in
            do throws(StoreError) {
                _ = try StoreKey(
                    encoded: bytes.array, keyId: "2X9R4HXF34",
                    issuerId: "57246542-96fe-1a63-e053-0824d011072a")
            } catch {
                precondition(error.description.utf8.count < 400, "a reason of any size")
            }
        }
    }

    /// A request for a signature: first byte the kind, then JSON. Invariants: a request that is
    /// accepted is signed, and the answer is JSON; a request of Advanced Commerce is accepted
    /// again as it was signed; a refusal has a reason of bounded size.
    static var signing: FuzzTarget {
        let signer = try? StoreSigner(bundleId: "com.example.game", key: .forLocalServer())
        return FuzzTarget("Signing", seeds: signingSeeds, words: signingWords) { bytes in
            guard bytes.count > 1, let signer else { return }
            let json = bytes.array(1..<bytes.count)
            do throws(StoreError) {
                try checkSigning(bytes[0], json, signer)
            } catch {
                precondition(error.description.utf8.count < 2_000, "a reason of any size")
            }
        }
    }

    private static func checkSigning(
        _ kind: UInt8, _ json: [UInt8], _ signer: StoreSigner
    ) throws(StoreError) {
        switch Int(kind) % 6 {
        case 3:
            let answer = try RetentionAnswer(json: json)
            let request = DecodedRealtimeRequestBody(
                originalTransactionId: "1", appAppleId: 1, productId: "p", userLocale: "en-US",
                requestIdentifier: "r", signedDate: FuzzAuthority.now, environment: .sandbox)
            checkJSON(try signer.body(of: answer, to: request))
        case 4:
            let text = String(decoding: json, as: UTF8.self)
            let token = try DecodedExternalPurchaseToken(text)
            precondition(!token.externalPurchaseId.isEmpty)
        case 5: _ = Inspection.transactionId(of: json.span)
        case let number:
            let request = try SigningRequest(SigningRequest.Kind.allCases[number], json: json)
            checkJSON(try signer.answer(to: request))
            guard case .advancedCommerce(let commerce) = request else { return }
            let again = try AdvancedCommerceRequest(json: commerce.json)
            precondition(again == commerce, "it reads what it wrote as another request")
        }
    }

    private static func checkJSON(_ json: [UInt8]) {
        precondition((try? JSONDocument.parse(json, limit: .max)) != nil, "no JSON")
    }

    private static let uuid = "7e3fb204-2a9c-4b1f-9c57-0c3c5f1e2a10"

    private static let requests: [(UInt8, String)] = [
        (0, #"{"productId":"p","offerIdentifier":"o","version":1,"appAccountToken":"x"}"#),
        (0, #"{"productId":"p","offerIdentifier":"o","transactionId":"1"}"#),
        (1, #"{"productId":"p","allowIntroductoryOffer":true,"transactionId":"1"}"#),
        (
            2,
            """
            {"request":{"operation":"CREATE_SUBSCRIPTION","version":"1","currency":"USD",\
            "requestInfo":{"requestReferenceId":"\(uuid)"},"taxCode":"T","period":"P1M",\
            "descriptors":{"description":"d","displayName":"n"},"items":[{"SKU":"s",\
            "description":"d","displayName":"n","price":1,"offer":{"period":"P1M",\
            "periodCount":1,"price":0,"reason":"RETENTION"}}]}}
            """
        ),
        (3, #"{"message":{"messageIdentifier":"\#(uuid)"}}"#),
        (3, #"{"promotionalOffer":{"messageIdentifier":"\#(uuid)","offerIdentifier":"o"}}"#),
        (4, "eyJleHRlcm5hbFB1cmNoYXNlSWQiOiJlIiwidG9rZW5DcmVhdGlvbkRhdGUiOjF9"),
        (5, "e30.eyJ0cmFuc2FjdGlvbklkIjoiMSJ9.AAAA"),
        (5, #"{"signedTransactions":["e30.eyJ0cmFuc2FjdGlvbklkIjoiMSJ9.AAAA"]}"#),
    ]

    private static let signingSeeds = requests.map { kind, text in [kind] + Array(text.utf8) }

    private static let signingWords = [
        "productId", "offerIdentifier", "version", "appAccountToken", "transactionId", "request",
        "operation", "CREATE_ONE_TIME_CHARGE", "MODIFY_SUBSCRIPTION", "REACTIVATE_SUBSCRIPTION",
        "requestInfo", "items", "addItems", "changeItems", "removeItems", "offer", "price",
        "alternateProduct", "advancedCommerceInfo", "billingPlanType", "true", "false", "null",
    ]
}

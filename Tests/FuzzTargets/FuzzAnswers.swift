import Assay
import AssayBytes
import AssayModels
import AssayWire

/// Answers of the App Store Server API: complete verifications.
extension FuzzTarget {
    /// The text of an answer, in which `@0` to `@5` stand for genuine tokens: tokens are too long
    /// for the fuzzer to keep whole while it changes what is around them.
    static func serverAnswer(_ authority: FuzzAuthority) -> FuzzTarget {
        let tokens = authority.genuine.filter { $0.kind != .appReceipt }.map(\.bytes)
            .filter { $0.first == UInt8(ascii: "e") }
        return FuzzTarget("ServerAnswer", seeds: answerSeeds, words: answerWords) { bytes in
            let evidence = filled(bytes, tokens)
            func verify() -> Verification {
                authority.verifier.verify(
                    evidence.span, as: .serverAnswer, policy: FuzzAuthority.policy,
                    at: FuzzAuthority.now)
            }
            let verification = verify()
            precondition(verify() == verification, "the same bytes, another answer")
            precondition((verification.evidence != nil) == (verification.verdict == .valid))
            precondition(!verification.detail.isEmpty && verification.detail.utf8.count < 1000)
            _ = Verifier.likelyKind(of: evidence.span)
            guard case .serverAnswer(let answer) = verification.evidence else { return }
            check(answer, authority)
            let signed = answer.memberEvidence.count
            precondition((verification.certificate != nil) == (signed > 0))
            precondition(answer.warnings.contains { $0.code == .noEvidence } == (signed == 0))
        }
    }

    /// Traps when a member was never signed, or the answer does not survive wire or JSON.
    private static func check(_ answer: ServerAnswer, _ authority: FuzzAuthority) {
        for member in answer.memberEvidence { authority.checkBelieved(member) }
        for (name, json) in VerifiedEvidence.serverAnswer(answer).payloadJSON {
            let document = try? JSONDocument.parse(json, limit: .max, depth: 40)
            precondition(document != nil, "\(name) is not JSON")
        }
        let codec = MessageCodec()
        var bytes: [UInt8] = []
        let verification = Verification(
            verdict: .valid, detail: "d", evidence: .serverAnswer(answer))
        codec.encode(ResponseHead(id: 1, result: .verification(verification)), into: &bytes)
        guard case .verification(let decoded) = (try? codec.decodeResponse(bytes.span))?.result,
            case .serverAnswer(let again) = decoded.evidence
        else { preconditionFailure("no answer over the wire") }
        precondition(again.unsigned == answer.unsigned && again.warnings == answer.warnings)
        precondition(again.memberEvidence.count == answer.memberEvidence.count)
    }

    /// A version 1 notification, in which `@0` to `@5` stand for base64 of genuine receipts.
    static func notificationV1(_ authority: FuzzAuthority) -> FuzzTarget {
        let receipts = authority.genuine.filter { $0.kind == .appReceipt }.map(\.bytes)
            .filter { $0.first == UInt8(ascii: "M") && !$0.contains(UInt8(ascii: "\n")) }
        return FuzzTarget("NotificationV1", seeds: notificationSeeds, words: notificationWords) {
            let evidence = filled($0, receipts)
            func verify() -> Verification {
                authority.verifier.verify(
                    evidence.span, as: .notificationV1, policy: FuzzAuthority.policy,
                    at: FuzzAuthority.now)
            }
            let verification = verify()
            precondition(verify() == verification, "the same bytes, another answer")
            FuzzAuthority.checkShape(verification)
            _ = Verifier.likelyKind(of: evidence.span)
            guard case .notificationV1(let notification) = verification.evidence else { return }
            authority.checkBelieved(.appReceipt(notification.receipt))
            for (name, json) in VerifiedEvidence.notificationV1(notification).payloadJSON {
                precondition((try? JSONDocument.parse(json, limit: .max)) != nil, name)
            }
        }
    }

    private static let notificationSeeds: [[UInt8]] = [
        #"{"notification_type":"DID_RENEW","environment":"PROD","bid":"com.example.app","#
            + #""password":"p","unified_receipt":{"status":0,"latest_receipt":"@0"}}"#,
        #"{"unified_receipt":{"latest_receipt":"@0","latest_receipt_info":[{}]}}"#,
        #"{"unified_receipt":{"latest_receipt":"MII="}}"#, #"{"signedPayload":"a.b.c"}"#,
        #"{"auto_renew_status":true,"bvrs":1,"unified_receipt":{"latest_receipt":"@0"}}"#,
    ].map { Array($0.utf8) }

    private static let notificationWords = [
        #""unified_receipt":{"#, #""latest_receipt":"@0""#, #""notification_type":"#, #""bid":"#,
        #""environment":"Sandbox""#, #""bvrs":"#, #""auto_renew_status":"#, "null", #"\u0064"#,
    ]

    static func filled(_ bytes: Span<UInt8>, _ tokens: [[UInt8]]) -> [UInt8] {
        var text: [UInt8] = []
        var index = 0
        while index < bytes.count {
            let byte = bytes[index]
            index += 1
            guard byte == UInt8(ascii: "@"), index < bytes.count,
                (UInt8(ascii: "0")...UInt8(ascii: "5")).contains(bytes[index])
            else {
                text.append(byte)
                continue
            }
            text += tokens[Int(bytes[index] - UInt8(ascii: "0")) % tokens.count]
            index += 1
        }
        return text
    }

    private static let answerSeeds: [[UInt8]] = [
        #"{"revision":"r","hasMore":true,"bundleId":"com.example.app","appAppleId":1,"#
            + #""environment":"Production","signedTransactions":["@0","@0"]}"#,
        #"{"status":0,"signedTransactions":["@0"]}"#, #"{"status":1}"#,
        #"{"signedTransactions":[]}"#, #"{"errorCode":4040010,"errorMessage":"a"}"#,
        #"{"data":[{"subscriptionGroupIdentifier":"1","lastTransactions":[{"status":1,"#
            + #""originalTransactionId":"1","signedTransactionInfo":"@0","#
            + #""signedRenewalInfo":"@1"}]}]}"#,
        #"{"signedTransactionInfo":"@0","signedRenewalInfo":"@1"}"#,
        #"{"signedAppTransactionInfo":"@2"}"#, #"{"signedTransactionInfo":"@1"}"#,
        #"{"paginationToken":"p","notificationHistory":[{"signedPayload":"@4","#
            + #""sendAttempts":[]}]}"#,
        #"{"signedPayload":"@4","sendAttempts":[]}"#,
        #"{"signedTransactions":["@0","a.b.c"]}"#, #"{"signedTransactions":["\u0040@3"]}"#,
    ].map { Array($0.utf8) }

    private static let answerWords = [
        #""signedTransactions":["#, #""data":[{"#, #""lastTransactions":[{"#, #""status":"#,
        #""signedTransactionInfo":"@0""#, #""signedRenewalInfo":"@1""#,
        #""signedAppTransactionInfo":"@2""#, #""notificationHistory":[{"#,
        #""signedPayload":"@4""#, #""hasMore":"#, #""revision":"#, #""environment":"#,
        #""bundleId":"#, #""appAppleId":"#, #""originalTransactionId":"#, "null", #"\u0064"#,
    ]
}

extension ServerAnswer {
    /// Each signed member as evidence of its own.
    fileprivate var memberEvidence: [VerifiedEvidence] {
        transactions.map { .transaction($0) } + renewalInfos.map { .renewalInfo($0) }
            + (appTransaction.map { [.appTransaction($0)] } ?? [])
            + notifications.map { .notification($0) }
    }
}

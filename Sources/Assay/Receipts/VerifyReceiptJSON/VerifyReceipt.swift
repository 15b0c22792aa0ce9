package import AssayBytes
public import AssayModels

/// Returns the answer to a verification in the JSON of Apple's retired verifyReceipt endpoint.
///
/// Numbers are strings, and booleans are "true" or "false", where Apple's are. The answer omits
/// data that only Apple's servers have (renewals since, pending renewals). With a status other
/// than 0 it has the member `detail`, which Apple's has not: clients ignore unknown members.
///
/// - Parameters:
///   - verification: the verification of a receipt.
///   - requestDate: the present. An app receipt's answer contains it; for an old receipt, it
///     decides whether the subscription has expired.
public func verifyReceiptResponse(
    for verification: Verification, requestDate: Timestamp
) -> [UInt8] {
    verifyReceiptResponse(for: verification, to: nil, requestDate: requestDate)
}

/// The members of a request to verifyReceipt, beside the receipt.
package struct VerifyReceiptQuery: Equatable, Sendable {
    /// Whether the path is that of sandbox receipts.
    package var isSandbox: Bool
    /// Of each subscription, only the latest renewal.
    package var excludesOldTransactions: Bool

    package init(isSandbox: Bool, excludesOldTransactions: Bool = false) {
        self.isSandbox = isSandbox
        self.excludesOldTransactions = excludesOldTransactions
    }

    /// Reads the members beside the receipt. Apple's clients also write `"true"` and 1 for true.
    package init(_ members: JSONObject, isSandbox: Bool) {
        let value = members["exclude-old-transactions"]
        self.init(
            isSandbox: isSandbox,
            excludesOldTransactions: value?.bool ?? (value?.string == "true" || value?.int64 == 1))
    }

    /// The environments whose receipts the path accepts.
    package var environments: [StoreEnvironment] {
        isSandbox ? [.sandbox] : [.production, .unspecified]
    }
}

/// Returns the answer of Apple's endpoint to a request.
///
/// - Parameters:
///   - query: nil for an answer that does not depend on the path, and that has the receipt alone.
///   - known: what the App Store knows beside the receipt; nil: what the receipt proves.
///   - source: where the latest purchases are from; nil for an answer that does not say so, as
///     Apple's.
package func verifyReceiptResponse(
    for verification: Verification, to query: VerifyReceiptQuery?, requestDate: Timestamp,
    known: KnownReceipt? = nil, source: LatestSource? = .receipt(.notAsked)
) -> [UInt8] {
    let detail = verifyReceiptDetail(
        for: verification, isOfPath: query != nil, requestDate: requestDate)
    var writer = JSONWriter()
    writer.object { response in
        guard verification.verdict == .valid, let evidence = verification.evidence else {
            let status = VerifyReceiptStatus(refusing: verification, to: query)
            response.member("status", status.rawValue)
            response.member("detail", detail)
            return
        }
        switch evidence {
        case .appReceipt(let receipt):
            response.member("status", VerifyReceiptStatus.valid.rawValue)
            response.member("environment", verification.environment?.nameOfApple)
            response.object("receipt") { $0.members(of: receipt, requestDate: requestDate) }
            if let query { response.latest(of: receipt, query, known, source) }
        case .transactionReceipt(let receipt):
            response.object("receipt") { $0.members(of: receipt) }
            let status = VerifyReceiptStatus(receipt, requestDate: requestDate)
            response.member("status", status.rawValue)
            if case .transaction(let latest) = known {
                response.members(of: latest, at: requestDate)
            }
            response.member("detail", detail)
            if query != nil, source != nil, receipt.expiresDate != nil {
                response.member(of: .receipt(.transactionReceipt))
            }
        default:
            response.member("status", VerifyReceiptStatus.malformed.rawValue)
            response.member("detail", detail)
        }
    }
    return writer.text
}

/// The member `detail` of that answer: why its status is not 0. Nil for the status 0.
///
/// - Parameter isOfPath: whether it is the answer of Apple's endpoint, which has no kinds.
package func verifyReceiptDetail(
    for verification: Verification, isOfPath: Bool, requestDate: Timestamp
) -> String? {
    guard verification.verdict == .valid else {
        return isOfPath ? EvidenceForm.namingPath(verification.detail) : verification.detail
    }
    switch verification.evidence {
    case .appReceipt: return nil
    case .transactionReceipt(let receipt):
        let status = VerifyReceiptStatus(receipt, requestDate: requestDate)
        return status == .valid ? nil : "the receipt is genuine; its subscription has expired"
    default: return "this is a \(verification.kind?.name ?? "payload"), and no receipt"
    }
}

/// Apple's status codes of verifyReceipt.
package enum VerifyReceiptStatus: Int64, Sendable {
    case valid = 0
    /// The method of the request is not POST.
    case notPost = 21000
    /// The receipt-data is malformed.
    case malformed = 21002
    /// The receipt could not be authenticated.
    case notAuthentic = 21003
    /// The password is not the shared secret.
    case wrongSecret = 21004
    /// The server is not available.
    case unavailable = 21005
    /// Valid, but the subscription has expired. For old receipts only; the answer includes the
    /// receipt.
    case expired = 21006
    /// A sandbox receipt where production receipts are expected.
    case sandboxReceipt = 21007
    /// A production receipt where sandbox receipts are expected.
    case productionReceipt = 21008
    /// An internal error.
    case internalError = 21009
    /// The customer's account was not found, or was deleted. The App Store alone knows.
    case accountNotFound = 21010
    /// An internal error, the last of 21100 to 21199: the App Store did not say what it knows of
    /// the customer. A client repeats the request later.
    case storeFailed = 21199

    init(refusing verification: Verification, to query: VerifyReceiptQuery?) {
        switch verification.verdict {
        case .malformed, .wrongKind: self = .malformed
        // A client sends the receipt to the other path then. If this path is the right one, the
        // configuration refuses the environment.
        case .wrongEnvironment
        where verification.environment == .sandbox && query?.isSandbox != true:
            self = .sandboxReceipt
        case .wrongEnvironment
        where verification.environment == .production && query?.isSandbox != false:
            self = .productionReceipt
        // The other path takes a receipt that does not name its environment.
        case .wrongEnvironment
        where verification.environment == .unspecified && query?.isSandbox == true:
            self = .productionReceipt
        // Another app's receipt does not authenticate anything for this one either. `valid` is
        // never refused, but without evidence it counts as not authentic.
        case .valid, .unsupportedAlgorithm, .untrustedChain, .invalidChain,
            .wrongCertificatePurpose, .certificateExpired, .certificateRevoked, .invalidSignature,
            .invalidDate, .wrongEnvironment, .wrongBundle, .wrongApp, .mismatch:
            self = .notAuthentic
        }
    }

    init(_ receipt: TransactionReceipt, requestDate: Timestamp) {
        guard let expires = receipt.expiresDate, expires <= requestDate else {
            self = .valid
            return
        }
        self = .expired
    }
}

extension StoreEnvironment {
    /// The name in Apple's answers: those of Production take receipts of before 2014, which do not
    /// name their environment.
    var nameOfApple: String {
        self == .unspecified ? StoreEnvironment.production.rawValue : rawValue
    }
}

extension JSONWriter {
    /// Writes the old shape: the members of purchase-info, with `_` for `-`. If two names become
    /// equal, Apple's own name, which has no `_`, takes precedence; the receipt's fields use it
    /// too.
    mutating func members(of receipt: TransactionReceipt) {
        let (hyphen, underscore) = (UInt8(ascii: "-"), UInt8(ascii: "_"))
        let names = receipt.members.map { $0.name.utf8.map { $0 == hyphen ? underscore : $0 } }
        var chosen: [[UInt8]: Int] = [:]
        for (index, member) in receipt.members.enumerated()
        where chosen[names[index]] == nil || !member.name.utf8.contains(underscore) {
            chosen[names[index]] = index
        }
        for (index, member) in receipt.members.enumerated() where chosen[names[index]] == index {
            self.member(String(decoding: names[index], as: UTF8.self), member.value)
        }
    }
}

import Assay
import AssayBytes
import AssayMint
import AssayModels

/// Apple's endpoint for receipts: what is in the receipt, and what the store knows since.
extension LocalStore {
    /// - Returns: the answer, and why its status is not 0.
    func verifyReceipt(
        _ call: EndpointCall, _ request: StoreRequest
    ) -> (answer: StoreResponse, reason: String?) {
        guard call.method == .post else { return Self.refusal(.notPost, "the method is not POST") }
        guard let receipts else {
            return Self.refusal(.internalError, "the folder --ca has no authority for receipts")
        }
        let limit = LocalStoreLimits.bodyBytes
        guard let members = try? JSONDocument.parse(request.body, limit: limit).root.members,
            let data = members["receipt-data"]?.string
        else { return Self.refusal(.malformed, "the body has no string receipt-data") }
        if let secret = settings.sharedSecret, members["password"]?.string != secret {
            return Self.refusal(.wrongSecret, "the password is not the one of --shared-secret")
        }
        let query = VerifyReceiptQuery(members, isSandbox: call.environment == .sandbox)
        let verification = receipts.verify(
            Array(data.utf8), bundleId: settings.bundleId, environments: query.environments,
            at: now)
        let detail = verifyReceiptDetail(for: verification, isOfPath: true, requestDate: now)
        var known: KnownReceipt?
        if verification.verdict == .valid, let evidence = verification.evidence {
            guard let customer = owner(of: evidence, call.environment) else {
                return Self.refusal(
                    .accountNotFound, "the receipt is of no customer, or of one that was removed")
            }
            do throws(MintError) {
                known = try self.known(evidence, of: customer, receipts)
            } catch {
                return Self.refusal(.internalError, error.message)
            }
        }
        let body = verifyReceiptResponse(
            for: verification, to: query, requestDate: now, known: known, source: nil)
        return (StoreResponse(body: body), detail)
    }

    private static func refusal(
        _ status: VerifyReceiptStatus, _ reason: String
    ) -> (answer: StoreResponse, reason: String?) {
        (
            .json { object in
                object.member("status", status.rawValue)
                object.member("detail", reason)
            }, reason
        )
    }

    /// The customer of a verified receipt.
    private func owner(
        of evidence: VerifiedEvidence, _ environment: APIEnvironment
    ) -> StoreCustomer? {
        switch evidence {
        case .appReceipt(let receipt):
            customers.first {
                !$0.isRemoved && $0.environment == environment
                    && $0.life.opaqueValue == receipt.opaqueValue
            }
        case .transactionReceipt(let receipt):
            customers.first { $0.has(receipt.transactionId ?? "", in: environment) }
        default: nil
        }
    }

    private func known(
        _ evidence: VerifiedEvidence, of customer: StoreCustomer, _ receipts: StoreReceipts
    ) throws(MintError) -> KnownReceipt? {
        guard case .transactionReceipt(let receipt) = evidence else {
            return .app(try customer.life.latestReceipt(at: now, finished: customer.finished))
        }
        let subscription = customer.life.subscriptions.first {
            $0.originalTransactionId == receipt.originalTransactionId
        }
        guard let subscription else { return nil }
        let latest = try customer.life.transactionReceipt(subscription.name)
        let verified = receipts.verify(
            latest, bundleId: settings.bundleId, environments: [.production, .sandbox], at: now)
        guard case .transactionReceipt(let content) = verified.evidence else { return nil }
        return .transaction(
            LatestTransactionReceipt(
                receipt: latest, content: content,
                renewal: try customer.life.renewal(of: subscription)))
    }
}

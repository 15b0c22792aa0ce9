import AssayModels

/// Makes the files of evidence of one scenario.
struct ScenarioSigner {
    let minter: Minter
    let receipts: ReceiptMinter?
    /// Milliseconds since 1970.
    let start: Int64
    /// Distinguishes the notifications of scenarios.
    let seed: UInt64
    /// Whose evidence it is.
    let identity: ScenarioIdentity
    private var notifications = 0

    init(
        _ minter: Minter, receipts: ReceiptMinter?, start: Int64, scenario: String,
        identity: ScenarioIdentity = .shared
    ) {
        self.minter = minter
        self.receipts = receipts
        self.start = start
        self.identity = identity
        // FNV-1a.
        seed = scenario.utf8.reduce(0xCBF2_9CE4_8422_2325) { hash, byte in
            (hash ^ UInt64(byte)) &* 0x100_0000_01B3
        }
    }

    /// - Parameter now: milliseconds after the start.
    mutating func file(
        _ evidence: ScenarioEvidence, of state: ScenarioState, at now: Int64
    ) throws(MintError) -> ScenarioFile {
        var tokens = ScenarioTokens(self, state, evidence, now)
        switch evidence.form {
        case .transaction(let name):
            let token = try tokens.transaction(name, evidence.changes)
            return tokens.file("transaction-\(name).jws", "transaction", token)
        case .renewalInfo(let name):
            let token = try tokens.renewal(name, evidence.changes)
            return tokens.file("renewal-info-\(name).jws", "renewal-info", token)
        case .appTransaction:
            let token = try tokens.appTransaction(evidence.changes)
            return tokens.file("app-transaction.jws", "app-transaction", token)
        case .notification(let notification) where notification.isVersion1:
            let (type, body) = try tokens.notificationV1(notification)
            return tokens.file(
                "notification-v1-\(type.rawValue.asFileName).json",
                EvidenceKind.notificationV1.name, body)
        case .notification(let notification):
            let body = try tokens.notification(notification, uuid: nextUUID())
            return tokens.file(notification.fileName, "notification", body)
        case .receipt(let names):
            let receipt = try tokens.receipt(names)
            return tokens.file("receipt.txt", "app-receipt", receipt)
        case .history(let names):
            let answer = try tokens.history(names)
            return tokens.file("history.json", "server-answer", answer)
        case .statuses(let statuses):
            let answer = try tokens.statuses(statuses)
            return tokens.file("statuses.json", "server-answer", answer)
        case .transactionInfo(let name):
            let answer = try tokens.transactionInfo(name)
            return tokens.file("transaction-info.json", "server-answer", answer)
        case .notificationHistory(let list):
            var bodies: [[UInt8]] = []
            for item in list { bodies.append(try tokens.notification(item, uuid: nextUUID())) }
            let answer = tokens.notificationHistory(bodies)
            return tokens.file("notification-history.json", "server-answer", answer)
        case .delivery:
            throw .invalidMember(at: evidence.path, reason: "is an earlier file")
        }
    }

    /// A UUID for the next notification.
    mutating func nextUUID() -> String {
        notifications += 1
        let index = Int(truncatingIfNeeded: seed >> 8) &+ notifications
        return Samples.uuid(5, index &+ identity.number &* 1_000_003)
    }
}

extension ScenarioNotification {
    /// Such as `notification-did-renew-billing-recovery.json`.
    fileprivate var fileName: String { "notification-\(words.asFileName).json" }
}

extension String {
    /// Lower-case words with hyphens.
    fileprivate var asFileName: String {
        String(
            lowercased().map { character in
                character.isASCII && (character.isLetter || character.isNumber) ? character : "-"
            })
    }
}

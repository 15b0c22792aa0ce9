/// One minted file of evidence, and the state that it carries.
struct ScenarioFile {
    /// Such as `notification-did-renew.json`.
    var name: String
    /// The command line's name of its kind.
    var kind: String
    var content: [UInt8]
    var carried: [Carried]

    /// What a token, record or receipt carries. Times are milliseconds after the start.
    enum Carried {
        case transaction(name: String, PayloadMembers)
        case renewal(PayloadMembers)
        case appTransaction(PayloadMembers)
        /// A record of an app receipt that was created at that time.
        case record(name: String, PayloadMembers)
        /// An app receipt, with its creation date as `signedDate`.
        case receipt(PayloadMembers)
    }
}

/// One file of evidence that was delivered in a step.
struct DeliveredFile {
    /// Such as `step-01/evidence/1-transaction-100.jws`.
    var label: String
    var file: ScenarioFile
}

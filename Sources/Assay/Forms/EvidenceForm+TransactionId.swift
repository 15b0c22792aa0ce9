extension EvidenceForm {
    /// Names evidence and other texts that are given where the App Store is asked for a
    /// transaction id; nil for what can be an id.
    package static func problem(withTransactionId id: String) -> String? {
        let form = detect(Array(id.utf8).span)
        switch form.name {
        case .transactionId, .other, .csv: return nil
        case .jws:
            return "the transaction id is a StoreKit 2 JWS: send the value of its "
                + "originalTransactionId, or verify it as evidence"
        default: return "the transaction id is none: " + form.text
        }
    }
}

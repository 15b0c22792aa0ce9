import AssayBytes
package import AssayModels

extension Explanation {
    /// A part of what the evidence contains.
    package struct Content: Sendable {
        /// Such as `payload` or `payload of data.signedTransactionInfo`.
        package let title: String
        /// Whether a signature that holds covers it.
        package let isVerified: Bool
        package let fields: ExplanationFields?
        /// The content as text, where it has no fields.
        package let text: String?
        /// In-app records of a receipt, the newest if there are more than the limit.
        package let records: InAppPurchases
        /// All in-app records of the receipt.
        package let recordCount: Int
    }

    /// What the evidence contains: what its signatures cover if the verdict is VALID, otherwise
    /// what it claims.
    package var contents: [Content] {
        var bytes = ExplanationLimits.contentBytes
        guard let evidence = verification.evidence else { return claims(of: inspection, &bytes) }
        switch evidence {
        case .appReceipt(let receipt): return [content(of: receipt, &bytes)]
        case .notificationV1(let notification):
            return [content(of: notification.receipt, &bytes)]
                + VerificationReport(verification).members.filter { $0.name != "payload" }
                .map { content(of: $0.document, $0.name, isVerified: false, &bytes) }
        default:
            // The other members of an answer have no signature. A push's token does not sign it.
            let isSigned = verification.kind?.format != .push
            let unsigned: Set<String> = ["unsigned", "warnings"]
            return VerificationReport(verification).members.map { member in
                content(
                    of: member.document, member.name,
                    isVerified: isSigned && !unsigned.contains(member.name), &bytes)
            }
        }
    }

    private func content(of receipt: AppReceipt, _ bytes: inout Int) -> Content {
        var receipt = receipt
        let count = receipt.inApp.count
        let records = receipt.inApp.newestShortened(ExplanationLimits.records)
        receipt.inApp = InAppPurchases()
        let document = try? JSONDocument.parse(receipt.json, limit: .max)
        return Content(
            title: "payload", isVerified: true,
            fields: document.map { fields($0.root, &bytes) },
            text: nil, records: records, recordCount: count)
    }

    private func content(
        of document: JSONDocument?, _ title: String, isVerified: Bool, _ bytes: inout Int
    ) -> Content {
        Content(
            title: title, isVerified: isVerified,
            fields: document.map { fields($0.root, &bytes) },
            text: nil, records: InAppPurchases(), recordCount: 0)
    }

    private func fields(_ value: JSONValue, _ bytes: inout Int) -> ExplanationFields {
        ExplanationFields(of: value, excluding: "inApp", at: now, within: &bytes)
    }

    /// The parts of evidence that is not verified.
    private func claims(of inspection: Inspection, _ bytes: inout Int) -> [Content] {
        let location = inspection.member.isEmpty ? "" : " of " + inspection.member
        var contents: [Content] = []
        if let header = inspection.header {
            let fields = ExplanationFields(
                of: header.root, excluding: "x5c", at: now, within: &bytes)
            contents.append(
                Content(
                    title: "header" + location, isVerified: false, fields: fields, text: nil,
                    records: InAppPurchases(), recordCount: 0))
        }
        if inspection.payload != nil || inspection.payloadText != nil {
            contents.append(
                Content(
                    title: "payload" + location, isVerified: false,
                    fields: inspection.payload.map { fields($0.root, &bytes) },
                    text: inspection.payloadText,
                    records: inspection.receipt?.inApp ?? InAppPurchases(),
                    recordCount: inspection.recordCount))
        }
        for nested in inspection.nested.prefix(ExplanationLimits.sections) {
            contents += claims(of: nested, &bytes)
        }
        return contents
    }

    /// The certificates of the evidence and of evidence in its members, each once.
    package var certificates: [InspectedCertificate] {
        var certificates: [InspectedCertificate] = []
        var known: Set<String> = []
        func add(_ inspection: Inspection) {
            for certificate in inspection.certificates {
                guard certificates.count < ExplanationLimits.certificates,
                    known.insert(certificate.fingerprint.description).inserted
                else { continue }
                certificates.append(certificate)
            }
            inspection.nested.forEach(add)
        }
        add(inspection)
        return certificates
    }

    /// Whether the chain of the evidence leads to a pinned root, in one sentence.
    package var trust: String {
        if let failed, Self.anchoring.contains(failed.step.check) {
            return "not trusted: " + verification.detail
        }
        // The members of an answer have the same chain, mostly.
        let steps = sections.lazy.map { section in
            section.checks.last { Self.anchoring.contains($0.check) }
        }
        guard let step = steps.compactMap(\.self).first else {
            return verification.kind == .serverAnswer && isVerified
                ? "nothing in it is signed" : "not decided: a check before it failed"
        }
        switch step.outcome {
        case .passed:
            let root = step.expected ?? step.found ?? ""
            if step.check == .storeKey { return "the app's keys of the store: " + root }
            if step.check == .tokenKey { return "keys of the JWK Set: " + root }
            return (step.check == .pinnedLeaf ? "the certificate is pinned: " : "trusted root: ")
                + root
        case .failed: return "not trusted: " + verification.detail
        case .notReached: return "not decided: a check before it failed"
        }
    }

    /// The checks that a pinned certificate vouches for the chain.
    private static let anchoring: Set<Check> = [
        .pinnedLeaf, .rootName, .rootSignature, .signatures, .storeKey, .tokenKey,
    ]
}

extension InAppPurchases {
    /// The newest records with ids of at most the length of a value.
    func newestShortened(_ most: Int) -> InAppPurchases {
        var shortened = InAppPurchases()
        for var record in newest(most) {
            func shorten(_ text: inout String?) {
                text = text?.shortened(to: ExplanationLimits.valueLength)
            }
            shorten(&record.productId)
            shorten(&record.transactionId)
            shorten(&record.originalTransactionId)
            shorten(&record.promotionalOfferId)
            shorten(&record.dedupKey)
            shortened.append(record)
        }
        return shortened
    }
}

/// An event in the life of the purchases of a receipt.
package struct TimelineEvent: Sendable, Equatable {
    package let date: Timestamp
    /// Such as `com.example.premium bought (470001)`.
    package let text: String

    /// The events of in-app records, in the order of their dates.
    package static func all(of records: InAppPurchases) -> [TimelineEvent] {
        var events: [TimelineEvent] = []
        for record in records {
            let product = record.productId ?? "a product without an id"
            func add(_ date: Timestamp?, _ what: String) {
                guard let date else { return }
                let id = record.transactionId.map { " (\($0))" } ?? ""
                events.append(TimelineEvent(date: date, text: "\(product) \(what)\(id)"))
            }
            add(record.purchaseDate, record.isTrialPeriod == true ? "trial began" : "bought")
            add(record.cancellationDate, "refunded")
            add(record.expiresDate, "period ends")
        }
        // The order of equal dates is that of the records.
        return events.enumerated().sorted {
            ($0.element.date, $0.offset) < ($1.element.date, $1.offset)
        }.map(\.element)
    }
}

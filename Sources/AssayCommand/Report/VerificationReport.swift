import Assay
import AssayModels

/// The output of verify, for local and remote verifications.
struct VerificationReport {
    var verification: Verification
    /// `payload` and the other signed tokens of a notification or an answer, each as signed; empty
    /// unless the verdict is VALID.
    var members: [Member]
    /// The result as JSON of Apple's verifyReceipt, if requested.
    var verifyReceipt: [UInt8]?

    struct Member {
        let name: String
        let document: JSONDocument
    }

    init(_ verification: Verification) {
        self.verification = verification
        members = verification.evidence?.signedMembers ?? []
    }

    /// - Parameter body: the JSON object with these members, as a server sends it.
    init(_ verification: Verification, body: [UInt8]) throws(JSONError) {
        self.verification = verification
        members = []
        guard verification.verdict == .valid, !body.isEmpty else { return }
        // The server bounds its responses, and a receipt can take megabytes. The object around
        // the payloads adds one level to their depth.
        let document = try JSONDocument.parse(body, limit: .max, depth: Self.memberDepth + 1)
        for (name, value) in try document.members().pairs {
            let document = try JSONDocument.parse(
                value.raw, limit: .max, depth: Self.memberDepth)
            members.append(Member(name: name, document: document))
        }
    }

    /// The depth of a payload, and the list and object around the payload of an answer.
    fileprivate static let memberDepth = Limits.jsonDepth + 2

    /// The report without a known kind.
    var ofUnknownKind: VerificationReport {
        VerificationReport(verification.ofUnknownKind)
    }

    var json: [UInt8] {
        var writer = JSONWriter()
        writer.object { report in
            report.member("verdict", verification.verdict.name)
            report.member("detail", verification.detail)
            report.member("kind", verification.kind?.name)
            report.member("environment", verification.environment?.rawValue)
            report.member("dedupKey", verification.dedupKey)
            if let certificate = verification.certificate {
                report.object("certificate") { object in
                    object.member("serial", certificate.serial)
                    object.member("notAfter", certificate.notAfter.rfc3339)
                    object.member("expired", certificate.expired)
                }
            }
            for member in members {
                report.name(member.name)
                report.value(member.document.root)
            }
        }
        return writer.text
    }
}

extension VerifiedEvidence {
    fileprivate var signedMembers: [VerificationReport.Member] {
        payloadJSON.compactMap { name, text in
            // Parsed before verification, or rendered from verified evidence.
            (try? JSONDocument.parse(text, limit: .max, depth: VerificationReport.memberDepth))
                .map { .init(name: name, document: $0) }
        }
    }
}

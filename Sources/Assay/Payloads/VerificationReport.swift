package import AssayBytes
package import AssayModels

/// A verification as JSON: the output of `assay verify`, and the answer of the HTTP interface.
package struct VerificationReport {
    package var verification: Verification
    /// `payload` and the other signed tokens of a notification or an answer, each as signed; empty
    /// unless the verdict is VALID.
    package var members: [Member]
    /// The result as JSON of Apple's verifyReceipt, if requested.
    package var verifyReceipt: [UInt8]?

    package struct Member {
        package let name: String
        /// The JSON, compact.
        package let text: [UInt8]

        /// The parsed text. It was parsed before verification, or rendered from verified evidence.
        package var document: JSONDocument? {
            try? JSONDocument.parse(text, limit: .max, depth: VerificationReport.memberDepth)
        }
    }

    package init(_ verification: Verification) {
        self.verification = verification
        members =
            verification.evidence?.payloadJSON.map { name, text in
                Member(name: name, text: text.compactJSON)
            } ?? []
    }

    /// - Parameter body: the JSON object with these members, as a server sends it.
    package init(_ verification: Verification, body: [UInt8]) throws(JSONError) {
        self.verification = verification
        members = []
        guard verification.verdict == .valid, !body.isEmpty else { return }
        // The server bounds its responses, and a receipt can take megabytes. The object around
        // the payloads adds one level to their depth.
        let document = try JSONDocument.parse(body, limit: .max, depth: Self.memberDepth + 1)
        for (name, value) in try document.members().pairs {
            members.append(Member(name: name, text: value.raw.compactJSON))
        }
    }

    /// The depth of a payload, and the list and object around the payload of an answer.
    fileprivate static let memberDepth = JSONLimits.depth + 2

    /// The report without a known kind.
    package var ofUnknownKind: VerificationReport {
        VerificationReport(verification.ofUnknownKind)
    }

    package var json: [UInt8] {
        // Longer than the members without payload.
        var writer = JSONWriter(capacity: members.reduce(1024) { $0 + $1.text.count })
        write(to: &writer)
        return writer.text
    }

    /// Writes the report as one object.
    package func write(to writer: inout JSONWriter) {
        writer.object { report in
            report.member("verdict", verification.verdict.name)
            report.member("detail", verification.detail)
            report.member("kind", verification.kind?.name)
            report.member("unwrapped", verification.unwrapped)
            report.member("environment", verification.environment?.rawValue)
            report.member("state", verification.state?.rawValue)
            report.member("dedupKey", verification.dedupKey)
            report.member("evidenceKey", verification.evidenceKey)
            if let certificate = verification.certificate {
                report.object("certificate") { object in
                    object.member("serial", certificate.serial)
                    object.member("notAfter", certificate.notAfter.rfc3339)
                    object.member("expired", certificate.expired)
                }
            }
            for member in members { report.member(member.name, raw: member.text) }
        }
    }
}

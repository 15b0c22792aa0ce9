import AssayBytes
import AssayModels

extension Inspection {
    /// The line that begins every output.
    package static let warning = "UNVERIFIED: nothing here was checked; 'assay verify' checks it"

    /// The inspection as one object. The names of its members say that nothing is verified.
    package var json: [UInt8] {
        var writer = JSONWriter()
        writer.object { object in
            object.member("verified", false)
            object.member("warning", Self.warning)
            write(to: &object)
        }
        return writer.text
    }

    private func write(to object: inout JSONWriter) {
        if !member.isEmpty { object.member("member", member) }
        object.member("format", format?.name)
        object.member("likelyKind", likelyKind?.name)
        object.member("bytes", Int64(byteCount))
        object.member("unverifiedHeader", raw: header?.text.compactJSON)
        object.array("unverifiedCertificates") { array in
            for certificate in certificates { array.object { certificate.write(to: &$0) } }
        }
        object.member("unverifiedPayload", raw: payload?.text.compactJSON)
        object.member("unverifiedPayloadText", payloadText)
        if let receipt { object.member("recordsOmitted", Int64(recordCount - receipt.inApp.count)) }
        object.array("nested") { array in
            for inspection in nested {
                array.object {
                    $0.member("verified", false)
                    inspection.write(to: &$0)
                }
            }
        }
        object.array("problems") { array in
            for problem in problems { array.value(problem) }
        }
    }
}

extension InspectedCertificate {
    func write(to object: inout JSONWriter) {
        object.member("fault", fault)
        if let fields {
            object.member("subject", fields.subject)
            object.member("issuer", fields.issuer)
            object.member("serial", fields.serial)
            object.member("notBefore", fields.notBefore.rfc3339)
            object.member("notAfter", fields.notAfter.rfc3339)
            object.member("key", fields.key)
            object.member("isCA", fields.isCA)
            object.member("markers", fields.markers)
        }
        object.member("sha256", fingerprint.description)
        object.member("bytes", Int64(byteCount))
    }
}

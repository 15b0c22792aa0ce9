extension Certificate {
    /// The subject's common name, or else the serial number. For display only: chain validation
    /// compares the bytes of names.
    package var subjectCommonName: String { commonName(in: subject) ?? "serial \(serialText)" }

    /// The issuer's common name in quotes, for messages.
    var issuerText: String {
        commonName(in: issuer).map { quoted($0) } ?? "a name without a common name"
    }

    private func commonName(in name: Range<Int>) -> String? {
        do throws(DERError) {
            var outer = DERReader(der.span, range: name)
            var name = try outer.readInside(.sequence)
            while !name.isAtEnd {
                var attributes = try name.readInside(.set)
                while !attributes.isAtEnd {
                    var attribute = try attributes.readInside(.sequence)
                    let type = try attribute.read(.objectIdentifier)
                    let value = try attribute.readElement()
                    guard attribute.matches(type, OID.commonName) else { continue }
                    return String(decoding: der[value.content], as: UTF8.self)
                }
            }
        } catch {
            // The name has another structure; the result is nil.
        }
        return nil
    }
}

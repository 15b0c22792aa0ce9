import AssayBytes

extension Certificate {
    /// The subject's common name, or else the serial number. For display only: chain validation
    /// compares the bytes of names.
    package var subjectCommonName: String { commonName(in: subject) ?? "serial \(serialText)" }

    /// The issuer's common name in quotes, for messages.
    var issuerText: String {
        commonName(in: issuer).map { quoted($0) } ?? "a name without a common name"
    }

    private func commonName(in name: Range<Int>) -> String? {
        var found: String?
        // Of a name of another structure, what comes before the fault counts.
        try? readAttributes(of: name) { type, value in
            if found == nil, der.span.extracting(type).equals(OID.commonName) {
                found = String(decoding: der[value], as: UTF8.self)
            }
        }
        return found
    }

    /// Calls `body` with the contents of type and value of each attribute, in their order.
    func readAttributes(
        of name: Range<Int>, _ body: (_ type: Range<Int>, _ value: Range<Int>) -> Void
    ) throws(DERError) {
        var outer = DERReader(der.span, range: name)
        var name = try outer.readInside(.sequence)
        while !name.isAtEnd {
            var attributes = try name.readInside(.set)
            while !attributes.isAtEnd {
                var attribute = try attributes.readInside(.sequence)
                let type = try attribute.read(.objectIdentifier)
                let value = try attribute.readElement()
                body(type.content, value.content)
            }
        }
    }
}

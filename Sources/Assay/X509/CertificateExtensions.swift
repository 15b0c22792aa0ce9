import AssayBytes

/// The certificate extensions that affect a verdict (RFC 5280, section 4.2).
package struct CertificateExtensions: Sendable, Equatable {
    /// basicConstraints; nil when absent.
    package var basicConstraints: BasicConstraints?
    /// keyUsage; nil when absent.
    package var keyUsage: KeyUsage?
    /// subjectKeyIdentifier; nil when absent.
    package var subjectKeyIdentifier: [UInt8]?
    /// The Apple marker extensions of this certificate.
    package var markers: Markers = []
    /// An unrecognized critical extension, in dotted decimal.
    package var unknownCritical: String?
    /// An extension that occurs twice, in dotted decimal.
    package var duplicate: String?

    package struct BasicConstraints: Sendable, Equatable {
        package var isCA: Bool
        package var pathLength: Int64?
    }

    /// The bits of keyUsage, by their numbers in section 4.2.1.3.
    package struct KeyUsage: OptionSet, Sendable {
        package let rawValue: UInt16
        package init(rawValue: UInt16) { self.rawValue = rawValue }
        package static let digitalSignature = KeyUsage(rawValue: 1 << 0)
        package static let keyCertSign = KeyUsage(rawValue: 1 << 5)
        package static let cRLSign = KeyUsage(rawValue: 1 << 6)
    }

    package struct Markers: OptionSet, Sendable {
        package let rawValue: UInt8
        package init(rawValue: UInt8) { self.rawValue = rawValue }
        /// 1.2.840.113635.100.6.11.1
        package static let receiptSigning = Markers(rawValue: 1)
        /// 1.2.840.113635.100.6.2.1
        package static let worldwideDeveloperRelations = Markers(rawValue: 2)
        /// 1.2.840.113635.100.6.5.1
        package static let purchaseReceiptSigning = Markers(rawValue: 4)
        /// 1.2.840.113635.100.6.2.2
        package static let iTunesStore = Markers(rawValue: 8)
        /// 1.3.6.1.4.1.2011.2.415.1.1
        package static let harmonySigning = Markers(rawValue: 16)

        /// The object identifier of each marker.
        fileprivate static let identifiers: [(marker: Markers, octets: [UInt8])] = [
            (.receiptSigning, OID.appleReceiptSigning),
            (.worldwideDeveloperRelations, OID.appleWorldwideDeveloperRelations),
            (.purchaseReceiptSigning, OID.applePurchaseReceiptSigning),
            (.iTunesStore, OID.appleITunesStore), (.harmonySigning, OID.harmonySigning),
        ]

        /// The object identifiers of the contained markers, in dotted decimal.
        package var name: String {
            Self.identifiers.filter { contains($0.marker) }
                .map { OID.dotted($0.octets.span) }.joined(separator: ", ")
        }
    }

    /// Reads `[3] EXPLICIT Extensions` if present.
    init(from reader: inout DERReader) throws(DERError) {
        guard reader.nextTag == .context(3) else { return }
        var explicit = try reader.readInside(.context(3))
        var list = try explicit.readInside(.sequence)
        try explicit.atEnd()
        var seen: [Range<Int>] = []
        while !list.isAtEnd {
            var fields = try list.readInside(.sequence)
            let identifier = try fields.read(.objectIdentifier)
            let isCritical = try Self.readCritical(&fields)
            let value = try fields.read(.octetString)
            try fields.atEnd()
            guard seen.count < Limits.certificateExtensions else {
                throw .tooManyElements(limit: Limits.certificateExtensions, at: identifier.start)
            }
            if seen.contains(where: {
                fields.bytes.extracting($0).equals(fields.bytes.extracting(identifier.content))
            }) {
                duplicate = OID.dotted(fields.bytes.extracting(identifier.content))
            }
            seen.append(identifier.content)
            try read(identifier, isCritical: isCritical, value: fields.inside(value))
        }
    }

    /// Reads `critical BOOLEAN DEFAULT FALSE`. DER omits a default value.
    private static func readCritical(_ fields: inout DERReader) throws(DERError) -> Bool {
        guard fields.nextTag == .boolean else { return false }
        let start = fields.position
        guard try fields.readBoolean() else { throw .defaultEncoded(at: start) }
        return true
    }

    private mutating func read(
        _ identifier: DERElement, isCritical: Bool, value: consuming DERReader
    ) throws(DERError) {
        var value = value
        if value.matches(identifier, OID.basicConstraints) {
            basicConstraints = try Self.readBasicConstraints(&value)
        } else if value.matches(identifier, OID.keyUsage) {
            keyUsage = try Self.readKeyUsage(&value)
        } else if !isCritical, value.matches(identifier, OID.subjectKeyIdentifier) {
            subjectKeyIdentifier = value.bytes.array(try value.read(.octetString).content)
        } else if let known = Markers.identifiers.first(where: {
            value.matches(identifier, $0.octets)
        }) {
            markers.insert(known.marker)
        } else if isCritical {
            unknownCritical = OID.dotted(value.bytes.extracting(identifier.content))
        }
    }

    /// Reads basicConstraints (section 4.2.1.9).
    private static func readBasicConstraints(
        _ value: inout DERReader
    ) throws(DERError) -> BasicConstraints {
        var fields = try value.readInside(.sequence)
        try value.atEnd()
        let isCA = try readCritical(&fields)
        let pathLength = try fields.nextTag == .integer ? fields.readInteger() : nil
        try fields.atEnd()
        return BasicConstraints(isCA: isCA, pathLength: pathLength)
    }

    /// Reads keyUsage (section 4.2.1.3): a BIT STRING whose bit 0 is the most significant of the
    /// first octet.
    private static func readKeyUsage(_ value: inout DERReader) throws(DERError) -> KeyUsage {
        let element = try value.read(.bitString)
        try value.atEnd()
        guard (2...3).contains(element.content.count) else {
            throw .invalidBitString(at: element.start)
        }
        var usage: UInt16 = 0
        for (octet, index) in element.content.dropFirst().enumerated() {
            for bit in 0..<8 where value.bytes[index] & (0x80 >> UInt8(bit)) != 0 {
                usage |= 1 << UInt16(octet * 8 + bit)
            }
        }
        return KeyUsage(rawValue: usage)
    }
}

/// A subjectPublicKeyInfo (RFC 5280, section 4.1.2.7; RFC 5480; RFC 3279, section 2.3.1).
package struct SubjectPublicKey: Sendable, Equatable {
    /// The whole SEQUENCE.
    package let range: Range<Int>
    package let kind: Kind

    package enum Kind: Sendable, Equatable {
        /// A named curve and an uncompressed point, `04 ‖ x ‖ y`. The point is not yet checked to
        /// be on the curve.
        case ec(Curve, point: Range<Int>)
        /// The magnitudes of modulus and public exponent, big-endian.
        case rsa(modulus: Range<Int>, exponent: Range<Int>)
        /// Any other key, described for messages.
        case unsupported(String)
    }

    /// The curves that Apple's chains use.
    package enum Curve: Sendable, Equatable {
        case p256
        case p384

        package var name: String { self == .p256 ? "P-256" : "P-384" }
        var pointSize: Int { self == .p256 ? 65 : 97 }
    }

    init(from reader: inout DERReader) throws(DERError) {
        let info = try reader.read(.sequence)
        range = info.whole
        var fields = reader.inside(info)
        let inside = try fields.readInside(.sequence)
        let identifier = try AlgorithmIdentifier(inside)
        let (algorithm, parameters) = (identifier.algorithm, identifier.parameters)
        let key = try fields.readBitStringOctets()
        try fields.atEnd()

        if fields.matches(algorithm, OID.ecPublicKey) {
            kind = Self.ellipticCurve(parameters, key, fields)
        } else if fields.matches(algorithm, OID.rsaEncryption) {
            kind = try Self.rsa(parameters, key, fields)
        } else {
            let name = OID.dotted(fields.bytes.extracting(algorithm.content))
            kind = .unsupported("an algorithm \(name)")
        }
    }

    private static func ellipticCurve(
        _ parameters: AlgorithmIdentifier.Parameters, _ key: Range<Int>,
        _ reader: borrowing DERReader
    ) -> Kind {
        // RFC 5480, section 2.1.1: PKIX allows namedCurve, but not implicitCurve and
        // specifiedCurve.
        guard case .other(let parameters) = parameters, parameters.tag == .objectIdentifier else {
            return .unsupported("an elliptic curve that is not named")
        }
        let curve: Curve
        if reader.matches(parameters, OID.secp256r1) {
            curve = .p256
        } else if reader.matches(parameters, OID.secp384r1) {
            curve = .p384
        } else {
            let name = OID.dotted(reader.bytes.extracting(parameters.content))
            return .unsupported("a curve \(name)")
        }
        guard key.count == curve.pointSize, reader.bytes[key.lowerBound] == 0x04 else {
            return .unsupported("a \(curve.name) point that is not uncompressed")
        }
        return .ec(curve, point: key)
    }

    private static func rsa(
        _ parameters: AlgorithmIdentifier.Parameters, _ key: Range<Int>,
        _ reader: borrowing DERReader
    ) throws(DERError) -> Kind {
        guard case .null = parameters else {
            return .unsupported("an RSA key with parameters")
        }
        var outer = DERReader(reader.bytes, range: key)
        var numbers = try outer.readInside(.sequence)
        try outer.atEnd()
        let modulus = try numbers.readIntegerOctets().content
        let exponent = try numbers.readIntegerOctets().content
        try numbers.atEnd()
        guard reader.bytes[modulus.lowerBound] & 0x80 == 0,
            reader.bytes[exponent.lowerBound] & 0x80 == 0
        else { return .unsupported("an RSA key with a negative number") }
        return .rsa(
            modulus: magnitude(modulus, reader.bytes), exponent: magnitude(exponent, reader.bytes))
    }

    /// The integer without the leading zero octet of its sign.
    private static func magnitude(_ range: Range<Int>, _ bytes: Span<UInt8>) -> Range<Int> {
        bytes[range.lowerBound] == 0 ? range.lowerBound + 1..<range.upperBound : range
    }
}

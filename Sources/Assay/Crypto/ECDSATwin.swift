import AssayBytes

/// Computes the other valid form of an ECDSA signature. Where (r, s) verifies, (r, n − s)
/// verifies too, with n the order of the key's curve. Anyone can derive one from the other; there
/// is no third form.
enum ECDSATwin {
    /// Returns the twin of a DER signature for each curve that signs certificates. If the
    /// signature verifies, exactly the twin for the signer's curve verifies.
    ///
    /// - Parameter signature: `SEQUENCE { r INTEGER, s INTEGER }`. Other input has no twin.
    static func twins(of signature: Span<UInt8>) -> [[UInt8]] {
        guard let numbers = try? ECDSASignature(signature) else { return [] }
        let magnitude = signature.array(numbers.s.content).drop { $0 == 0 }
        return orders.compactMap { order in
            guard let difference = difference(order, Array(magnitude)) else { return nil }
            let sign: [UInt8] = difference[0] & 0x80 == 0 ? [] : [0]
            return Tag.sequence.encoding(
                signature.array(numbers.r.whole) + Tag.integer.encoding(sign + difference))
        }
    }

    /// The orders n of P-256 and P-384 (SEC 2, sections 2.4.2 and 2.5.1), big-endian.
    private static let orders: [[UInt8]] = [
        [UInt8](repeating: 0xFF, count: 4) + [UInt8](repeating: 0, count: 4)
            + [UInt8](repeating: 0xFF, count: 8)
            + [
                0xBC, 0xE6, 0xFA, 0xAD, 0xA7, 0x17, 0x9E, 0x84,
                0xF3, 0xB9, 0xCA, 0xC2, 0xFC, 0x63, 0x25, 0x51,
            ],
        [UInt8](repeating: 0xFF, count: 24)
            + [
                0xC7, 0x63, 0x4D, 0x81, 0xF4, 0x37, 0x2D, 0xDF,
                0x58, 0x1A, 0x0D, 0xB2, 0x48, 0xB0, 0xA7, 0x7A,
                0xEC, 0xEC, 0x19, 0x6A, 0xCC, 0xC5, 0x29, 0x73,
            ],
    ]

    /// Returns `order` − `number` without leading zeros, or nil unless 0 < `number` < `order`.
    private static func difference(_ order: [UInt8], _ number: [UInt8]) -> [UInt8]? {
        guard !number.isEmpty, number.count <= order.count else { return nil }
        var result = order
        var borrow = 0
        for index in 1...order.count {
            let offset = order.count - index
            let subtrahend = index <= number.count ? Int(number[number.count - index]) : 0
            let value = Int(order[offset]) - subtrahend - borrow
            borrow = value < 0 ? 1 : 0
            result[offset] = UInt8(value & 0xFF)
        }
        let magnitude = Array(result.drop { $0 == 0 })
        return borrow == 0 && !magnitude.isEmpty ? magnitude : nil
    }
}

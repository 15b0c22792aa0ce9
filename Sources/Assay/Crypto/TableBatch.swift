import AssayCurves

/// A batch of signatures of keys with tables, for the arithmetic that the tables were made for.
enum TableBatch {
    case own(P256Verification)
    case openssl(OpenSSLBatch)

    init(capacity: Int, engine: SignatureEngine) {
        if let arithmetic = engine.arithmetic {
            self = .own(P256Verification(capacity: capacity, arithmetic: arithmetic))
        } else {
            self = .openssl(OpenSSLBatch(capacity: capacity))
        }
    }

    /// Adds a signature.
    ///
    /// - Precondition: the table was made for the engine of this batch.
    func append(_ table: KeyTable, digest: Span<UInt8>, r: Span<UInt8>, s: Span<UInt8>) {
        switch (self, table.points) {
        case (.own(let batch), .own(let points)):
            batch.append(points, digest: digest, r: r, s: s)
        case (.openssl(let batch), .openssl(let points)):
            batch.append(points, digest: digest, r: r, s: s)
        case (.own, .openssl), (.openssl, .own): preconditionFailure("a table of this engine")
        }
    }

    func verify() {
        switch self {
        case .own(let batch): batch.verify()
        case .openssl(let batch): batch.verify()
        }
    }

    /// Whether a signature verifies. Nil if another routine has to decide.
    func holds(_ place: Int) -> Bool? {
        switch self {
        case .own(let batch): batch.outcome(place).holds
        case .openssl(let batch): batch.outcome(place)
        }
    }

    func removeAll() {
        switch self {
        case .own(let batch): batch.removeAll()
        case .openssl(let batch): batch.removeAll()
        }
    }
}

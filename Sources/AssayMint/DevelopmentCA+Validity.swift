import Assay
package import AssayModels

extension DevelopmentCA {
    /// When the leaf's signatures are valid, in milliseconds since 1970.
    package var leafValidity: ClosedRange<Int64> {
        get throws(MintError) {
            guard let leaf = try? Certificate(der: leafCertificate) else {
                throw .malformedFile("leaf.pem")
            }
            return leaf.notBefore * 1000...leaf.notAfter * 1000
        }
    }

    /// The moment when the authority was made: it is valid from one day before it.
    package var firstDay: Timestamp {
        get throws(MintError) {
            Timestamp(milliseconds: try leafValidity.lowerBound + ScenarioTime.day)
        }
    }
}

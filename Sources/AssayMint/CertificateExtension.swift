/// A certificate extension (RFC 5280, 4.2, and Apple's markers).
package struct CertificateExtension: Sendable, Hashable {
    package var oid: String
    package var critical: Bool
    /// The content of the extnValue OCTET STRING.
    package var value: [UInt8]

    package init(oid: String, critical: Bool = false, value: [UInt8]) {
        self.oid = oid
        self.critical = critical
        self.value = value
    }

    package var der: [UInt8] {
        DERWriter.build { writer in
            writer.sequence {
                $0.oid(oid)
                if critical { $0.boolean(true) }
                $0.octetString(value)
            }
        }
    }

    private init(_ oid: String, critical: Bool = false, _ body: (inout DERWriter) -> Void) {
        self.init(oid: oid, critical: critical, value: DERWriter.build(body))
    }

    // MARK: Identifiers

    package static let subjectKeyIdentifierOID = "2.5.29.14"
    package static let keyUsageOID = "2.5.29.15"
    package static let subjectAltNameOID = "2.5.29.17"
    package static let basicConstraintsOID = "2.5.29.19"
    package static let crlDistributionPointsOID = "2.5.29.31"
    package static let certificatePoliciesOID = "2.5.29.32"
    package static let authorityKeyIdentifierOID = "2.5.29.35"
    package static let authorityInfoAccessOID = "1.3.6.1.5.5.7.1.1"
    /// Apple's marker of leaves that sign receipts and StoreKit 2 payloads.
    package static let leafMarkerOID = "1.2.840.113635.100.6.11.1"
    /// Huawei's marker of leaves that sign evidence of HarmonyOS.
    package static let harmonyMarkerOID = "1.3.6.1.4.1.2011.2.415.1.1"
    /// Apple's marker of the Worldwide Developer Relations intermediate.
    package static let intermediateMarkerOID = "1.2.840.113635.100.6.2.1"

    // MARK: Common extensions

    package static func basicConstraints(
        ca: Bool, pathLength: Int64? = nil, critical: Bool = true
    ) -> Self {
        Self(basicConstraintsOID, critical: critical) { writer in
            writer.sequence {
                // DER omits FALSE, the default.
                if ca { $0.boolean(true) }
                if let pathLength { $0.integer(pathLength) }
            }
        }
    }

    package static func keyUsage(_ usage: KeyUsage, critical: Bool = true) -> Self {
        Self(keyUsageOID, critical: critical) { writer in
            // In a named bit list, DER omits trailing zero bits.
            let bits = usage.rawValue
            let octets =
                bits & 0xFF == 0 ? [UInt8(bits >> 8)] : [UInt8(bits >> 8), UInt8(bits & 0xFF)]
            let last = octets[octets.count - 1]
            if bits == 0 {
                writer.bitString([])
            } else {
                writer.bitString(octets, unusedBits: UInt8(last.trailingZeroBitCount))
            }
        }
    }

    package static func subjectKeyIdentifier(_ identifier: [UInt8]) -> Self {
        Self(subjectKeyIdentifierOID) { $0.octetString(identifier) }
    }

    package static func authorityKeyIdentifier(_ identifier: [UInt8]) -> Self {
        Self(authorityKeyIdentifierOID) { writer in
            writer.sequence { $0.contextPrimitive(0, identifier) }
        }
    }

    /// An extension that only has to be present. Its value is NULL, as in Apple's.
    package static func marker(_ oid: String, critical: Bool = false) -> Self {
        Self(oid, critical: critical) { $0.null() }
    }

    package static func authorityInfoAccess(issuers: String? = nil, ocsp: String? = nil) -> Self {
        Self(authorityInfoAccessOID) { writer in
            writer.sequence { list in
                for (oid, url) in [("1.3.6.1.5.5.7.48.2", issuers), ("1.3.6.1.5.5.7.48.1", ocsp)] {
                    guard let url else { continue }
                    list.sequence {
                        $0.oid(oid); $0.contextPrimitive(6, Array(url.utf8))
                    }
                }
            }
        }
    }

    package static func crlDistributionPoints(_ url: String) -> Self {
        Self(crlDistributionPointsOID) { writer in
            writer.sequence { points in
                points.sequence { point in
                    point.context(0) { name in
                        name.context(0) { $0.contextPrimitive(6, Array(url.utf8)) }
                    }
                }
            }
        }
    }

    /// One policy with a user notice and a practice statement, as in Apple's leaves.
    package static func certificatePolicies(policy: String, notice: String, cps: String) -> Self {
        Self(certificatePoliciesOID) { writer in
            writer.sequence { policies in
                policies.sequence { information in
                    information.oid(policy)
                    information.sequence { qualifiers in
                        qualifiers.sequence { qualifier in
                            qualifier.oid("1.3.6.1.5.5.7.2.2")
                            // VisibleString.
                            qualifier.sequence {
                                $0.element(tag: 0x1A, content: Array(notice.utf8))
                            }
                        }
                        qualifiers.sequence {
                            $0.oid("1.3.6.1.5.5.7.2.1"); $0.ia5String(cps)
                        }
                    }
                }
            }
        }
    }

    /// An e-mail address, or the text that Xcode writes there.
    package static func subjectAltName(email: String) -> Self {
        Self(subjectAltNameOID) { writer in
            writer.sequence { $0.contextPrimitive(1, Array(email.utf8)) }
        }
    }
}

/// The named bits of keyUsage, the first bit highest.
package struct KeyUsage: OptionSet, Sendable {
    package let rawValue: UInt16
    package init(rawValue: UInt16) { self.rawValue = rawValue }

    package static let digitalSignature = Self(rawValue: 0x8000)
    package static let nonRepudiation = Self(rawValue: 0x4000)
    package static let keyEncipherment = Self(rawValue: 0x2000)
    package static let dataEncipherment = Self(rawValue: 0x1000)
    package static let keyAgreement = Self(rawValue: 0x0800)
    package static let keyCertSign = Self(rawValue: 0x0400)
    package static let cRLSign = Self(rawValue: 0x0200)
    package static let encipherOnly = Self(rawValue: 0x0100)
    package static let decipherOnly = Self(rawValue: 0x0080)
}

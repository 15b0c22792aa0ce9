package import Assay
import AssayEntitlements
package import AssayModels
import AssayServer

/// The explanations of some items of evidence, and what their customer owns by them. The text of
/// `assay explain`, its JSON and the page `/explain` show this value.
package struct ExplanationSet: Sendable {
    package let items: [Item]
    /// Nil if no item is VALID. Has at most `entryLimit` purchases, warnings and customers.
    package let entitlements: Entitlements?
    /// Purchases, warnings and customers beyond the limit.
    package let omittedEntries: Int
    package let now: Timestamp
    /// Items beyond the limit.
    package let omitted: Int

    package struct Item: Sendable {
        /// Such as a file's name.
        package let label: String
        package let explanation: Explanation
    }

    /// An item of evidence and the label of its source.
    package struct Source: Sendable {
        package let label: String
        package let evidence: [UInt8]

        package init(label: String, evidence: [UInt8]) {
            self.label = label
            self.evidence = evidence
        }
    }

    /// A page is for a person. `assay entitlements` and `assay verify` take any number.
    package static let itemLimit = 32
    /// Purchases of what the customer owns. A receipt of 16 MB has tens of thousands.
    package static let entryLimit = 200

    /// - Parameter kind: nil to detect the kind of each item.
    package init(
        _ sources: [Source], as kind: EvidenceKind?, trust: TrustStore, policy: Policy,
        expecting expectations: Expectations = .none, at now: Timestamp
    ) {
        self.now = now
        items = sources.prefix(Self.itemLimit).map { source in
            Item(
                label: source.label,
                explanation: Explanation(
                    source.evidence.span, as: kind, trust: trust, policy: policy,
                    expecting: expectations, at: now))
        }
        omitted = sources.count - items.count
        let evidence = items.map {
            EvidenceItem($0.explanation.verification, label: $0.label)
        }
        guard items.contains(where: \.explanation.isVerified) else {
            (entitlements, omittedEntries) = (nil, 0)
            return
        }
        var owned = Entitlements(of: evidence, at: now, policy: EntitlementPolicy())
        omittedEntries = owned.removeEntries(beyond: Self.entryLimit)
        entitlements = owned
    }

    /// Whether every item is VALID.
    package var isVerified: Bool { items.allSatisfy(\.explanation.isVerified) }

    package var json: [UInt8] {
        var writer = JSONWriter()
        writer.object { object in
            object.member("at", now.rfc3339)
            object.array("items") { list in
                for item in items {
                    list.object { object in
                        object.member("label", item.label)
                        object.member("explanation", raw: item.explanation.json)
                    }
                }
            }
            object.member("itemsOmitted", Int64(omitted))
            if let entitlements {
                let evidence = items.map {
                    EvidenceItem($0.explanation.verification, label: $0.label)
                }
                object.member("entitlements", raw: entitlements.json(evidence))
                object.member("entitlementsOmitted", Int64(omittedEntries))
            }
        }
        return writer.text
    }
}

extension ExplanationSet.Source {
    /// The items of a text: each line if all are tokens, otherwise the whole.
    package static func all(in content: [UInt8], label: String) -> [Self] {
        guard content.first != Self.derSequence else {
            return [Self(label: label, evidence: content)]
        }
        let lines = content.split { $0 == 0x0A || $0 == 0x0D }.map(trimmed).filter { !$0.isEmpty }
        guard lines.count > 1, lines.allSatisfy(isToken) else {
            let whole = trimmed(content[...])
            return whole.isEmpty ? [] : [Self(label: label, evidence: Array(whole))]
        }
        return lines.enumerated().map { number, line in
            Self(label: "\(label):\(number + 1)", evidence: Array(line))
        }
    }

    /// The first octet of a receipt in DER, whose end can look like white space.
    private static let derSequence: UInt8 = 0x30

    private static func isToken(_ line: ArraySlice<UInt8>) -> Bool {
        line.starts(with: "ey".utf8) && line.count { $0 == UInt8(ascii: ".") } == 2
    }

    private static func trimmed(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        func isSpace(_ byte: UInt8) -> Bool { [0x20, 0x09, 0x0A, 0x0D].contains(byte) }
        guard let last = text.lastIndex(where: { !isSpace($0) }) else { return [] }
        return text[...last].drop(while: isSpace)
    }
}

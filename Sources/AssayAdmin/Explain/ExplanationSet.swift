package import Assay
import AssayBytes
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
    /// Items beyond the limit, and those that the time did not suffice for.
    package let omitted: Int

    package struct Item: Sendable {
        /// Such as a file's name.
        package let label: String
        package let explanation: Explanation
        /// What to do next, a sentence or two each.
        package let next: [String]
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

    /// - Parameters:
    ///   - more: the number of items that are not among the sources.
    ///   - kind: nil to detect the kind of each item.
    ///   - revocation: the statuses that the policy uses.
    ///   - account: the appAccountToken of the customer; purchases that name another are marked.
    ///   - isLate: whether the time is over; the items after the current one are then left out.
    package init(
        _ sources: [Source], andMore more: Int = 0, as kind: EvidenceKind?, trust: TrustStore,
        policy: Policy, revocation: RevocationStatuses = RevocationStatuses(),
        expecting expectations: Expectations = .none, of account: String? = nil, at now: Timestamp,
        until isLate: () -> Bool = { false }
    ) {
        self.now = now
        var explanations: [Explanation] = []
        for source in sources.prefix(Self.itemLimit) {
            if !explanations.isEmpty, isLate() { break }
            explanations.append(
                Explanation(
                    source.evidence.span, as: kind, trust: trust, policy: policy,
                    revocation: revocation, expecting: expectations, at: now))
        }
        omitted = sources.count + more - explanations.count
        let evidence = zip(sources, explanations).map {
            EvidenceItem($1.verification, label: $0.label)
        }
        var entitlementPolicy = EntitlementPolicy()
        entitlementPolicy.expectedAppAccountToken = account
        var owned = Entitlements(of: evidence, at: now, policy: entitlementPolicy)
        let advice = Advice(about: evidence, owned: owned) { $0.rfc3339 }
        items = zip(sources, explanations).enumerated().map { index, item in
            let (source, explanation) = item
            return Item(
                label: source.label, explanation: explanation,
                next: explanation.isVerified ? advice.texts(for: index) : explanation.remedies)
        }
        guard explanations.contains(where: \.isVerified) else {
            (entitlements, omittedEntries) = (nil, 0)
            return
        }
        omittedEntries = owned.removeEntries(beyond: Self.entryLimit)
        entitlements = owned
    }

    /// What is wrong with an expected account for these items; nil if nothing is.
    package func problem(ofAccount account: String?) -> String? {
        var policy = EntitlementPolicy()
        policy.expectedAppAccountToken = account
        return policy.problem(of: items.compactMap(\.explanation.verification.kind))
    }

    /// Whether every item is VALID.
    package var isVerified: Bool { items.allSatisfy(\.explanation.isVerified) }

    /// What to do next, once for all items with the same advice.
    package var next: [(items: String, texts: [String])] {
        var groups: [(labels: [String], texts: [String])] = []
        for item in items {
            let texts = item.next
            if let index = groups.firstIndex(where: { $0.texts == texts }) {
                groups[index].labels.append(item.label)
            } else {
                groups.append(([item.label], texts))
            }
        }
        return groups.map { ($0.labels.shortList, $0.texts) }
    }

    /// The failed checks, with the labels of their items.
    package var failures: [(label: String, member: String, step: Explanation.Step)] {
        items.compactMap { item in
            item.explanation.failed.map { (item.label, $0.member, $0.step) }
        }
    }

    /// What could not be read of refused items, the first of each.
    package var problems: [(label: String, text: String)] {
        items.filter { !$0.explanation.isVerified }.flatMap { item in
            item.explanation.inspection.problems.prefix(Self.problemLimit).map { (item.label, $0) }
        }
    }

    /// Problems of one item that stand beside the failed check. The first names the cause.
    private static let problemLimit = 4

    /// The items that newer evidence replaces whole; nil if there are none.
    package var superseded: String? {
        let labels = (entitlements?.superseded ?? []).compactMap { index in
            items.indices.contains(index) ? items[index].label : nil
        }
        return labels.isEmpty
            ? nil : "newer evidence replaces, and makes superfluous: " + labels.shortList
    }

    package var json: [UInt8] {
        var writer = JSONWriter()
        writer.object { object in
            object.member("at", now.rfc3339)
            object.array("items") { list in
                for item in items {
                    list.object { object in
                        object.member("label", item.label)
                        object.member("explanation", raw: item.explanation.json(next: item.next))
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

extension [String] {
    /// The first labels, and the number of the others.
    fileprivate var shortList: String {
        let most = 3
        return prefix(most).joined(separator: ", ")
            + (count > most ? " and \(count - most) more" : "")
    }
}

/// The items of texts, of which no more are kept than a set explains.
package struct ExplanationSources {
    package private(set) var items: [ExplanationSet.Source] = []
    /// Items beyond the limit.
    package private(set) var omitted = 0

    package init() {}

    /// Adds the items of a text: each line if all are tokens, otherwise the whole.
    package mutating func add(_ content: ArraySlice<UInt8>, label: String) {
        guard content.first != Self.derSequence else { return append(content, label) }
        let whole = Self.trimmed(content)
        guard !whole.isEmpty else { return }
        var count = 0
        var rest = whole
        while let line = Self.nextLine(&rest) {
            guard Self.isToken(line) else { return append(whole, label) }
            count += 1
        }
        guard count > 1 else { return append(whole, label) }
        rest = whole
        for number in 1...count {
            guard items.count < ExplanationSet.itemLimit else {
                omitted += count - number + 1
                return
            }
            if let line = Self.nextLine(&rest) { append(line, "\(label):\(number)") }
        }
    }

    private mutating func append(_ evidence: ArraySlice<UInt8>, _ label: String) {
        guard items.count < ExplanationSet.itemLimit else {
            omitted += 1
            return
        }
        items.append(.init(label: label, evidence: Array(evidence)))
    }

    /// Removes the next line that is not empty, and returns it without white space around it.
    private static func nextLine(_ rest: inout ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        while !rest.isEmpty {
            let line = rest.prefix { $0 != 0x0A && $0 != 0x0D }
            rest = rest[line.endIndex...].dropFirst()
            let text = trimmed(line)
            if !text.isEmpty { return text }
        }
        return nil
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

import Assay
package import AssayEntitlements
package import AssayModels
import AssayTelemetry
package import AssayWire

/// The messages of answers to Resolve and Fetch, which all protocols with messages share.
extension Resolution {
    /// - Returns: the answer, and the signed JSON of each item, empty for a refused one; no JSON if
    ///   the call did not ask for it.
    package static func answer(
        _ entitlements: Entitlements, of items: [EvidenceItem], _ call: ResolveCall
    ) -> (Resolution, json: [[UInt8]]) {
        let json = call.returnsPayloadJSON ? items.map { $0.verification.evidence?.json ?? [] } : []
        var resolved: [ResolvedItem] = []
        resolved.reserveCapacity(items.count)
        // A span has its elements read in place.
        let all = items.span
        for index in all.indices {
            resolved.append(
                ResolvedItem.of(
                    all[index], withPayload: call.returnsTypedPayloads,
                    jsonLength: json.isEmpty ? 0 : json[index].count))
        }
        for index in entitlements.superseded { resolved[index].isSuperseded = true }
        return (Resolution(items: resolved, entitlements: entitlements), json)
    }
}

extension Fetched {
    /// The answer to a Fetch.
    package init(_ found: CustomerState, _ call: FetchCall) {
        var items = found.items.map {
            ResolvedItem.of($0, withPayload: call.returnsTypedPayloads, jsonLength: 0)
        }
        for index in found.entitlements.superseded { items[index].isSuperseded = true }
        self.init(
            environment: found.environment, revision: found.revision, items: items,
            entitlements: found.entitlements)
    }
}

extension ResolvedItem {
    /// A function, which borrows the item: an initializer would copy it.
    fileprivate static func of(
        _ item: borrowing EvidenceItem, withPayload: Bool, jsonLength: Int
    ) -> ResolvedItem {
        var verification = item.verification
        if !withPayload { verification.evidence = nil }
        var resolved = ResolvedItem(
            label: item.label, verification: verification,
            payloadJSONLength: UInt32(clamping: jsonLength))
        resolved.identifiers = item.identifiers
        return resolved
    }
}

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
        var resolved = ResolvedItem.all(items, withPayload: call.returnsTypedPayloads)
        for index in json.indices {
            resolved[index].payloadJSONLength = UInt32(clamping: json[index].count)
        }
        for index in entitlements.superseded { resolved[index].isSuperseded = true }
        return (Resolution(items: resolved, entitlements: entitlements), json)
    }
}

extension Fetched {
    /// The answer to a Fetch.
    package init(_ found: CustomerState, _ call: FetchCall) {
        var items = ResolvedItem.all(found.items, withPayload: call.returnsTypedPayloads)
        for index in found.entitlements.superseded { items[index].isSuperseded = true }
        self.init(
            environment: found.environment, revision: found.revision, items: items,
            entitlements: found.entitlements)
    }
}

extension ResolvedItem {
    fileprivate static func all(_ items: [EvidenceItem], withPayload: Bool) -> [ResolvedItem] {
        items.map { item in
            var resolved = ResolvedItem(item)
            resolved.omitsPayload = !withPayload
            return resolved
        }
    }
}

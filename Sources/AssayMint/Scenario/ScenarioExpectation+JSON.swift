import AssayBytes

extension ScenarioExpectation {
    init(_ node: ScenarioNode) throws(MintError) {
        let members = try node.members([
            "groups", "products", "consumables", "nextChange", "warnings", "stale", "conflict",
        ])
        for group in try members["groups"]?.list() ?? [] { groups.append(try Group(group)) }
        for product in try members["products"]?.list() ?? [] {
            products.append(try Product(product))
        }
        for consumable in try members["consumables"]?.list() ?? [] {
            consumables.append(try Consumable(consumable))
        }
        if let node = members["nextChange"] {
            nextChange = node.value.isNull ? .never : .at(try node.time())
        }
        warnings = try members["warnings"]?.strings() ?? []
        isStale = try members["stale"]?.bool() ?? false
        isConflicting = try members["conflict"]?.bool() ?? false
    }
}

extension ScenarioExpectation.Group {
    private static let states = [
        "ACTIVE", "GRACE_PERIOD", "BILLING_RETRY", "EXPIRED", "REVOKED", "UNKNOWN",
    ]

    init(_ node: ScenarioNode) throws(MintError) {
        let members = try node.members([
            "status", "until", "by", "of", "trial", "otherAccount", "item", "subscriptions",
        ])
        let state = try node.required("status", members)
        status = try state.string()
        guard Self.states.contains(status) else {
            throw state.invalid("must be one of " + Self.states.joined(separator: ", "))
        }
        until = try members["until"]?.time()
        by = try node.required("by", members).string()
        of = try members["of"]?.string()
        isTrial = try members["trial"]?.bool() ?? false
        isOfAnother = try members["otherAccount"]?.bool() ?? false
        item = try members["item"].map { node throws(MintError) in Int(try node.number()) }
        for subscription in try members["subscriptions"]?.list() ?? [] {
            subscriptions.append(try Self(subscription))
        }
        path = node.path
    }
}

extension ScenarioExpectation.Product {
    init(_ node: ScenarioNode) throws(MintError) {
        let members = try node.members(["entitled", "until", "by", "otherAccount", "item"])
        isEntitled = try node.required("entitled", members).bool()
        until = try members["until"]?.time()
        by = try node.required("by", members).string()
        isOfAnother = try members["otherAccount"]?.bool() ?? false
        item = try members["item"].map { node throws(MintError) in Int(try node.number()) }
        path = node.path
        if until != nil, !isEntitled { throw node.invalid("has an end and does not entitle") }
    }
}

extension ScenarioExpectation.Consumable {
    init(_ node: ScenarioNode) throws(MintError) {
        let members = try node.members(["by", "revokedPercentage"])
        by = try node.required("by", members).string()
        revokedPercentage = try members["revokedPercentage"]?.number() ?? 0
        path = node.path
    }
}

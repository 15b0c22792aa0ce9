import AssayBytes

extension Scenario {
    /// Reads a scenario file.
    ///
    /// - Parameter json: one JSON object.
    public init(json: [UInt8]) throws(MintError) {
        try self.init(json: json, catalogue: BuiltInScenarios.products.get())
    }

    /// - Parameter catalogue: the products that every scenario knows.
    init(json: [UInt8], catalogue: [String: ScenarioProduct]) throws(MintError) {
        let file = try ScenarioNode(scenario: json)
        let members = try file.members(["name", "summary", "policy", "products", "steps"])
        name = try file.required("name", members).scenarioName()
        summary = try file.required("summary", members).string()
        policy = try members["policy"].map(ScenarioPolicy.init) ?? ScenarioPolicy()
        let own = try members["products"].map(ScenarioProduct.catalogue) ?? [:]
        products = catalogue.merging(own) { $1 }
        var steps: [ScenarioStep] = []
        for node in try file.required("steps", members).list() {
            let step = try ScenarioStep(node)
            if let before = steps.last?.at, step.at < before {
                throw node.invalid("is before the step above it: write steps in order of time")
            }
            if steps.isEmpty, step.expectation == nil {
                throw node.invalid("needs the member expect: no step is before it")
            }
            steps.append(step)
        }
        guard !steps.isEmpty else { throw file.invalid("needs at least one step") }
        self.steps = steps
    }
}

extension ScenarioNode {
    /// Parses the text of a file.
    init(scenario json: [UInt8]) throws(MintError) {
        do throws(JSONError) {
            // A file is read into memory whole, so it needs no further limit.
            let document = try JSONDocument.parse(json, limit: json.count)
            self.init(value: document.root, path: "")
        } catch {
            throw .malformedScenario(error.description)
        }
    }

    func required(
        _ name: String, _ members: [String: ScenarioNode]
    ) throws(MintError) -> ScenarioNode {
        guard let node = members[name] else { throw invalid("needs the member \(name)") }
        return node
    }

    /// A name, which becomes that of a folder: lower-case words and digits with hyphens.
    fileprivate func scenarioName() throws(MintError) -> String {
        let name = try string()
        let isName = name.utf8.allSatisfy { byte in
            (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte) || byte == 0x2D
        }
        guard isName, name.utf8.first != 0x2D else {
            throw invalid("must be of lower-case letters, digits and hyphens")
        }
        return name
    }
}

extension ScenarioPolicy {
    init(_ node: ScenarioNode) throws(MintError) {
        let members = try node.members([
            "maxAgeDays", "billingRetryDays", "renewalHours", "familySharing", "durationDays",
            "appAccountToken",
        ])
        maxAgeDays = try members["maxAgeDays"]?.days()
        billingRetryDays = try members["billingRetryDays"]?.days() ?? 0
        renewalHours = try members["renewalHours"]?.number() ?? 0
        acceptsFamilySharing = try members["familySharing"]?.bool() ?? true
        appAccountToken = try members["appAccountToken"]?.string()
        for (product, days) in try members["durationDays"]?.pairs() ?? [] {
            guard days.value.members != nil else {
                durationDays[product] = try days.days()
                continue
            }
            let duration = try days.members(["days", "stack"])
            durationDays[product] = try days.required("days", duration).days()
            if try duration["stack"]?.bool() ?? false { stackedProducts.insert(product) }
        }
    }
}

extension ScenarioProduct {
    static func catalogue(_ node: ScenarioNode) throws(MintError) -> [String: ScenarioProduct] {
        var products: [String: ScenarioProduct] = [:]
        for (name, product) in try node.pairs() {
            var period: Int64?
            for (member, value) in try product.pairs() where member == "period" {
                period = try value.time()
            }
            let members = try product.changes().filter { $0.name != "period" }
            products[name] = ScenarioProduct(period: period, members: members)
        }
        return products
    }
}

extension ScenarioStep {
    init(_ node: ScenarioNode) throws(MintError) {
        let members = try node.members([
            "at", "title", "transactions", "renewals", "evidence", "notify", "expect",
        ])
        at = try node.required("at", members).time()
        title = try node.required("title", members).string()
        transactions = try members["transactions"].map(NamedChanges.list) ?? []
        renewals = try members["renewals"].map(NamedChanges.list) ?? []
        var evidence: [ScenarioEvidence] = []
        for item in try members["evidence"]?.list() ?? [] {
            evidence.append(try ScenarioEvidence(item))
        }
        self.evidence = evidence
        notifies = try members["notify"]?.bool() ?? true
        expectation = try members["expect"].map(ScenarioExpectation.init)
    }
}

extension NamedChanges {
    static func list(_ node: ScenarioNode) throws(MintError) -> [NamedChanges] {
        var list: [NamedChanges] = []
        for (name, changes) in try node.pairs() {
            list.append(
                NamedChanges(name: name, path: changes.path, changes: try changes.changes()))
        }
        return list
    }
}

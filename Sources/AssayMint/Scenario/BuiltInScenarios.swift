import CAssayScenarios

/// The scenarios that are part of the program.
enum BuiltInScenarios {
    /// The texts of the files, products.json first.
    static let texts: [[UInt8]] = {
        let sequence = unsafe String(cString: assay_scenarios())
        return sequence.utf8.split(separator: 0x1E).map(Array.init)
    }()

    /// The products that every scenario knows.
    static let products = Result { () throws(MintError) in
        try ScenarioProduct.catalogue(ScenarioNode(scenario: texts.first ?? []))
    }

    static let all = Result { () throws(MintError) in
        let products = try BuiltInScenarios.products.get()
        var scenarios: [Scenario] = []
        for text in texts.dropFirst() {
            scenarios.append(try Scenario(json: text, catalogue: products))
        }
        return scenarios
    }
}

extension Scenario {
    /// The scenarios that are part of the library, ordered by subject.
    public static var builtIn: [Scenario] {
        get throws(MintError) { try BuiltInScenarios.all.get() }
    }

    /// The text of a built-in scenario's file; nil for an unknown name.
    public static func builtInSource(_ name: String) -> [UInt8]? {
        guard let index = try? builtIn.firstIndex(where: { $0.name == name }) else { return nil }
        return BuiltInScenarios.texts[index + 1]
    }
}

import AssayBytes
public import AssayModels

/// Mints the evidence of scenarios, and the answers that are expected of it.
public struct ScenarioMinter: Sendable {
    private let minter: Minter
    private let receipts: ReceiptMinter?
    private let validity: ClosedRange<Int64>
    /// The moment of time 0 of a scenario.
    public let start: Timestamp

    /// Creates a minter.
    ///
    /// - Parameters:
    ///   - ca: signs all tokens.
    ///   - receipts: signs app receipts; nil: a scenario with a receipt is an error.
    ///   - start: time 0 of the scenarios; nil: the first day of the authority.
    public init(
        _ ca: DevelopmentCA, receipts: ReceiptCA? = nil, start: Timestamp? = nil
    ) throws(MintError) {
        minter = Minter(ca.chain)
        self.receipts = receipts.map { ReceiptMinter($0.chain) }
        validity = try ca.leafValidity
        if let start { self.start = start } else { self.start = try ca.firstDay }
    }

    /// Mints one scenario: its steps in order, each with the evidence that it adds.
    public func mint(_ scenario: Scenario) throws(MintError) -> [MintedStep] {
        var life = ScenarioLife(scenario, minter, receipts: receipts, start: start.milliseconds)
        var steps: [MintedStep] = []
        for (index, step) in scenario.steps.enumerated() {
            guard validity.contains(start.milliseconds + step.at) else {
                throw .invalidMember(
                    at: "steps[\(index)].at",
                    reason: "is a time at which the authority's "
                        + "certificate is not valid, counted from \(start.rfc3339)")
            }
            steps.append(try life.mint(step, number: index + 1))
        }
        return steps
    }
}

/// One minted step of a scenario.
public struct MintedStep: Sendable {
    /// The name of its folder, such as `step-01`.
    public let name: String
    /// What happened.
    public let title: String
    /// The moment of the expected answer.
    public let at: Timestamp
    /// The evidence that the step adds.
    public let files: [MintedFile]
    /// The answer that is expected of all evidence up to this step, in the JSON form of
    /// `assay entitlements`. Items have no keys and no `detail`, warnings no `message`.
    public let expected: [UInt8]
}

/// One file of evidence.
public struct MintedFile: Sendable {
    /// The path below the scenario's folder, such as `step-01/evidence/1-transaction-100.jws`.
    public let path: String
    /// The command line's name of its kind, such as `transaction`.
    public let kind: String
    /// The evidence.
    public let content: [UInt8]
}

/// A customer's life, minted step by step.
struct ScenarioLife {
    private let scenario: Scenario
    private let start: Int64
    private var signer: ScenarioSigner
    private var state: ScenarioState
    private var ledger = ScenarioLedger()
    private var named: [String: ScenarioFile] = [:]
    private var expectation = ScenarioExpectation()

    init(_ scenario: Scenario, _ minter: Minter, receipts: ReceiptMinter?, start: Int64) {
        self.scenario = scenario
        self.start = start
        signer = ScenarioSigner(
            minter, receipts: receipts, start: start, scenario: scenario.name)
        state = ScenarioState(products: scenario.products)
    }

    mutating func mint(_ step: ScenarioStep, number: Int) throws(MintError) -> MintedStep {
        try state.apply(step)
        let name = "step-" + (number < 10 ? "0" : "") + String(number)
        var files: [MintedFile] = []
        for evidence in step.evidence {
            let file = try self.file(evidence, at: step.at)
            if let name = evidence.name { named[name] = file }
            guard !evidence.isHeld else { continue }
            let path = "\(name)/evidence/\(files.count + 1)-\(file.name)"
            files.append(MintedFile(path: path, kind: file.kind, content: file.content))
            ledger.add(DeliveredFile(label: path, file: file))
        }
        if let given = step.expectation { expectation = given }
        let answer = ScenarioAnswer(ledger, expectation, at: step.at, start: start)
        return MintedStep(
            name: name, title: step.title, at: Timestamp(milliseconds: start + step.at),
            files: files, expected: try answer.json())
    }

    private mutating func file(
        _ evidence: ScenarioEvidence, at now: Int64
    ) throws(MintError) -> ScenarioFile {
        guard case .delivery(let name) = evidence.form else {
            return try signer.file(evidence, of: state, at: now)
        }
        guard let file = named[name] else {
            throw .unknownMember(name, at: evidence.path + ".deliver", known: named.keys.sorted())
        }
        return file
    }
}

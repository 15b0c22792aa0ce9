import Assay
import AssayBytes
import AssayHTTP
import AssayModels
import AssayService
import AssayTelemetry
import AssayWire

/// What a request asks to verify, without the evidence: from the query beside raw evidence, or
/// from the members of JSON.
struct HTTPParameters: Sendable {
    /// Nil if the server detects the kind.
    var kind: EvidenceKind?
    var app = ""
    /// Milliseconds; 0 for the server's default.
    var timeout: UInt32 = 0
    var expectations = Expectations.none
    var inApp = InAppSelection.all
    var content = HTTPResponseStyle.Content.report
    private var devices: [String] = []
    private var namesKind = false

    /// The call.
    ///
    /// - Parameter kind: the kind of the evidence, or an estimate where it is detected.
    func head(_ id: UInt64, as kind: EvidenceKind, mayWait: Bool = false) -> RequestHead {
        let call = VerifyCall(
            kind: kind, expectations: expectations, returnsTypedPayload: false,
            returnsPayloadJSON: content.isReport, inApp: inApp,
            returnsVerifyReceiptJSON: content.isVerifyReceipt)
        return RequestHead(
            id: id, call: .verify(call), app: app, timeoutMilliseconds: timeout, mayWait: mayWait)
    }

    /// The kind, or the probable one by the first bytes.
    func estimate(_ evidence: Span<UInt8>) -> EvidenceKind {
        kind ?? Verifier.estimatedKind(of: evidence)
    }

    /// The question of a request to Apple's endpoint.
    init(_ query: VerifyReceiptQuery, app: String, kind: EvidenceKind) {
        self.kind = kind
        self.app = app
        expectations.environments = query.environments
        content = .apple(query)
    }

    /// The question of a request of OpenIAP's contract.
    init(purchase members: JSONObject, app: String) throws(HTTPProblem) {
        kind = .transaction
        self.app = app
        if let product = members["expectedProductId"], !product.isNull {
            guard let product = product.string else {
                throw .invalidMember("expectedProductId", "expectedProductId is not a string")
            }
            expectations.productIds = [product]
        }
        var withPayload = false
        if let value = members["includeClientPayload"], !value.isNull {
            guard let value = value.bool else {
                throw .invalidMember(
                    "includeClientPayload", "includeClientPayload is not true or false")
            }
            withPayload = value
        }
        content = .purchase(withPayload: withPayload)
    }

    // MARK: Query

    /// Reads the parameters, which are named like the options of `assay verify`.
    init(_ query: HTTPQuery) throws(HTTPProblem) {
        var given: Set<String> = []
        for (name, value) in query.parameters {
            guard given.insert(name).inserted || Self.repeated.contains(name) else {
                throw Self.problem("the parameter \(name) occurs twice")
            }
            try set(name, value)
        }
        try finish()
    }

    private static let repeated: Set<String> = ["environment", "product-id", "device-id"]

    private mutating func set(_ name: String, _ value: String) throws(HTTPProblem) {
        switch name {
        case "kind": try setKind(value)
        case "app": app = value
        case "bundle-id": expectations.bundleId = value
        case "app-apple-id": expectations.appAppleId = try Self.number(value, name, from: 1)
        case "environment": expectations.environments.append(StoreEnvironment(rawValue: value))
        case "product-id": expectations.productIds.append(value)
        case "app-account-token": expectations.appAccountToken = value
        case "transaction-id": expectations.transactionId = value
        case "not-older-than":
            expectations.notOlderThan = Timestamp(milliseconds: try Self.number(value, name))
        case "device-id": devices.append(value)
        case "in-app": try setInApp(value)
        case "returns": try setContent(value)
        case "timeout": try setTimeout(Double(value))
        default:
            throw Self.problem(
                "unknown parameter \(Self.quoted(name)); the parameters: \(Self.names)")
        }
    }

    private static let names =
        "kind, app, bundle-id, app-apple-id, environment, product-id, app-account-token, "
        + "transaction-id, not-older-than, device-id, in-app, returns, timeout"

    // MARK: JSON

    /// Reads the members beside the evidence.
    init(_ object: JSONObject) throws(HTTPProblem) {
        for (name, value) in object.pairs {
            switch name {
            case "evidence": break
            case "kind": try setKind(Self.text(value, name))
            case "app": app = try Self.text(value, name)
            case "expectations": try setExpectations(value)
            case "inApp": try setInApp(Self.text(value, name))
            case "returns": try setContent(Self.text(value, name))
            case "timeout": try setTimeout(value.double)
            default:
                throw Self.problem(
                    "unknown member \(Self.quoted(name)); the members: kind, evidence, app, "
                        + "expectations, inApp, returns, timeout")
            }
        }
        try finish()
    }

    private mutating func setExpectations(_ value: JSONValue) throws(HTTPProblem) {
        (expectations, devices) = try Self.expectations(value)
    }

    /// Reads expectations, and the texts of the expected devices beside them.
    static func expectations(
        _ value: JSONValue
    ) throws(HTTPProblem) -> (expectations: Expectations, devices: [String]) {
        guard let members = value.members else {
            throw Self.problem("expectations is not an object")
        }
        var expectations = Expectations.none
        var devices: [String] = []
        for (name, value) in members.pairs {
            if var elements = value.elements, elements.next() == nil {
                throw Self.problem("\(EmptyExpectation(name: name))")
            }
            switch name {
            case "bundleId": expectations.bundleId = try Self.text(value, name)
            case "appAppleId":
                guard let id = value.int64, id > 0 else { throw Self.notANumber(name) }
                expectations.appAppleId = id
            case "environments":
                for text in try Self.texts(value, name, limit: ServerLimits.environments) {
                    expectations.environments.append(StoreEnvironment(rawValue: text))
                }
            case "productIds":
                expectations.productIds = try Self.texts(
                    value, name, limit: ServerLimits.products)
            case "appAccountToken": expectations.appAccountToken = try Self.text(value, name)
            case "transactionId": expectations.transactionId = try Self.text(value, name)
            case "deviceId":
                let limit = Expectations.otherDeviceLimit + 1
                devices =
                    if let text = value.string {
                        [text]
                    } else {
                        try Self.texts(value, name, limit: limit)
                    }
            case "notOlderThan":
                guard let date = value.int64 else { throw Self.notANumber(name) }
                expectations.notOlderThan = Timestamp(milliseconds: date)
            default:
                throw Self.problem(
                    "unknown member \(Self.quoted(name)) of expectations; the members: bundleId, "
                        + "appAppleId, environments, productIds, appAccountToken, transactionId, "
                        + "deviceId, notOlderThan")
            }
        }
        return (expectations, devices)
    }

    static func text(_ value: JSONValue, _ name: String) throws(HTTPProblem) -> String {
        guard let text = value.string else { throw problem("\(name) is not a string") }
        return text
    }

    static func texts(
        _ value: JSONValue, _ name: String, limit: Int
    ) throws(HTTPProblem) -> [String] {
        let elements = try elements(value, name, limit: limit)
        var texts: [String] = []
        for element in elements {
            guard let text = element.string else {
                throw problem("an element of \(name) is not a string")
            }
            texts.append(text)
        }
        return texts
    }

    /// The elements of an array, whose number is checked before they are read.
    static func elements(
        _ value: JSONValue, _ name: String, limit: Int
    ) throws(HTTPProblem) -> JSONElements {
        guard let elements = value.elements else { throw problem("\(name) is not an array") }
        var count = 0
        for _ in elements { count += 1 }
        guard count <= limit else {
            throw problem("\(name) has \(count) elements; the limit is \(limit)")
        }
        return elements
    }

    // MARK: Values

    private mutating func setKind(_ name: String) throws(HTTPProblem) {
        kind = EvidenceKind(name: name)
        guard kind != nil || name == "auto" else { throw Self.unknownKind(Self.quoted(name)) }
        namesKind = true
    }

    private mutating func setInApp(_ text: String) throws(HTTPProblem) {
        guard let selection = InAppSelection(text: text) else {
            throw Self.problem(
                "the selection of in-app records is not all, latest, none or product=ID")
        }
        inApp = selection
    }

    private mutating func setContent(_ text: String) throws(HTTPProblem) {
        switch text {
        case "payload": content = .report
        case "verdict": content = .verdict
        case "verify-receipt": content = .verifyReceipt
        default: throw Self.problem("returns is not payload, verdict or verify-receipt")
        }
    }

    private mutating func setTimeout(_ seconds: Double?) throws(HTTPProblem) {
        timeout = try Self.timeout(seconds)
    }

    /// Milliseconds of a timeout in seconds.
    static func timeout(_ seconds: Double?) throws(HTTPProblem) -> UInt32 {
        guard let seconds, (0.001...longestTimeout).contains(seconds) else {
            throw Self.problem("timeout is not a number of seconds from 0.001 to 600")
        }
        return UInt32(seconds * 1000)
    }

    /// Seconds. The server's own limit is lower by default, and applies then.
    private static let longestTimeout = 600.0

    private mutating func finish() throws(HTTPProblem) {
        guard namesKind else { throw Self.unknownKind("missing") }
        if content.isVerifyReceipt, kind != .appReceipt, kind != .transactionReceipt {
            throw Self.problem(
                "returns verify-receipt needs the kind app-receipt or transaction-receipt")
        }
        try setDevices()
    }

    private mutating func setDevices() throws(HTTPProblem) {
        guard let device = devices.first else { return }
        guard devices.count <= Expectations.otherDeviceLimit + 1 else {
            throw Self.problem(
                "there are more than \(Expectations.otherDeviceLimit + 1) expected devices")
        }
        switch kind {
        case nil: throw Self.problem("a device needs a kind other than auto")
        case .appReceipt, .notificationV1:
            for device in devices {
                guard let octets = DeviceText.octets(device), DeviceText.isOfReceipt(octets) else {
                    throw Self.problem(
                        "the device of an app receipt is not 16 octets (identifierForVendor) or 6 "
                            + "(a Mac's address) in hexadecimal")
                }
                expectations.expect(device: octets)
            }
        default:
            guard devices.count == 1 else {
                throw Self.problem("several devices can be expected of an app receipt alone")
            }
            expectations.deviceVerificationId = device
        }
    }

    private static func number(
        _ text: String, _ name: String, from least: Int64 = .min
    ) throws(HTTPProblem) -> Int64 {
        guard let number = Int64(text), number >= least else { throw notANumber(name) }
        return number
    }

    private static func unknownKind(_ problem: String) -> HTTPProblem {
        let names = EvidenceKind.allCases.map(\.name).joined(separator: ", ")
        return Self.problem("the kind is \(problem); the kinds: \(names), auto")
    }

    private static func notANumber(_ name: String) -> HTTPProblem {
        problem("\(name) is not a whole number in its range")
    }

    static func problem(_ detail: String) -> HTTPProblem {
        HTTPProblem(400, .invalidArgument, detail)
    }

    /// A name from the request, shortened: it returns in the response.
    static func quoted(_ name: String) -> String { "\"" + name.prefix(64) + "\"" }
}

extension JSONValue {
    /// A number; nil for other types.
    var double: Double? {
        kind == .number ? Double(String(decoding: raw, as: UTF8.self)) : nil
    }
}

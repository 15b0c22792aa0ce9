import Assay
import AssayBytes
import AssayModels
import AssayService
import AssayTelemetry

extension EntitlementPolicy {
    /// Reads the member `policy` of a body.
    init(json value: JSONValue) throws(HTTPProblem) {
        self.init()
        guard let members = value.members else {
            throw HTTPParameters.problem("policy is not an object")
        }
        for (name, value) in members.pairs {
            switch name {
            case "maxAgeMs": maxAgeMilliseconds = try HTTPParameters.number(value, name)
            case "billingRetryLeniencyMs":
                billingRetryLeniencyMilliseconds = try HTTPParameters.number(value, name)
            case "renewalLeniencyMs":
                renewalLeniencyMilliseconds = try HTTPParameters.number(value, name)
            case "knownAt":
                knownAt = Timestamp(milliseconds: try HTTPParameters.number(value, name))
            case "stackedProducts":
                stackedProducts = Set(
                    try HTTPParameters.texts(value, name, limit: ServerLimits.products))
            case "durationsMs":
                guard let durations = value.members else {
                    throw HTTPParameters.problem("durationsMs is not an object")
                }
                guard durations.count <= ServerLimits.products else {
                    throw HTTPParameters.problem(
                        "durationsMs has \(durations.count) members; the limit is "
                            + "\(ServerLimits.products)")
                }
                for (product, duration) in durations.pairs {
                    self.durations[product] = try HTTPParameters.number(duration, name)
                }
            case "refuseFamilySharing":
                guard let refuses = value.bool else {
                    throw HTTPParameters.problem("refuseFamilySharing is not true or false")
                }
                acceptsFamilySharing = !refuses
            case "expectedAppAccountToken":
                expectedAppAccountToken = try HTTPParameters.text(value, name)
            default:
                throw HTTPParameters.problem(
                    "unknown member \(HTTPParameters.quoted(name)) of policy; the members: "
                        + "maxAgeMs, "
                        + "billingRetryLeniencyMs, renewalLeniencyMs, durationsMs, "
                        + "stackedProducts, refuseFamilySharing, expectedAppAccountToken, knownAt")
            }
        }
    }
}

extension HTTPParameters {
    /// A number of milliseconds, not negative.
    static func number(_ value: JSONValue, _ name: String) throws(HTTPProblem) -> Int64 {
        guard let number = value.int64, number >= 0 else {
            throw HTTPParameters.problem("\(name) is not a whole number of milliseconds")
        }
        return number
    }
}

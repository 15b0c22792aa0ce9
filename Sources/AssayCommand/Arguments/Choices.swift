import ArgumentParser
import Assay
import AssayClient
import AssayCommandLine
import AssayIO
import AssayModels

/// The values of `verify --kind`: a kind, or `auto`.
enum KindChoice: String, Choice {
    case transaction
    case renewalInfo = "renewal-info"
    case appTransaction = "app-transaction"
    case notification
    case realtimeRequest = "realtime-request"
    case appReceipt = "app-receipt"
    case transactionReceipt = "transaction-receipt"
    case serverAnswer = "server-answer"
    case notificationV1 = "notification-v1"
    case googlePurchase = "google-purchase"
    case huaweiPurchase = "huawei-purchase"
    case harmonyPurchase = "harmony-purchase"
    case harmonySubscription = "harmony-subscription"
    case harmonyNotification = "harmony-notification"
    case googleNotification = "google-notification"
    case huaweiNotification = "huawei-notification"
    case auto

    /// The kind; nil for `auto`.
    var kind: EvidenceKind? { EvidenceKind(name: rawValue) }
}

/// The values of `serve --log-level`.
enum LogLevelChoice: String, Choice {
    case info, debug
}

/// The values of `serve --engine`.
enum EngineChoice: String, Choice {
    case auto, ifma, avx2, neon, portable, openssl

    /// The engine. Throws if this processor does not support it.
    var supported: SignatureEngine {
        get throws(Failure) {
            guard let engine = SignatureEngine(rawValue: rawValue) else { return .best }
            guard engine.isSupported else {
                throw Failure(
                    "--engine \(self): this processor, or its operating system, lacks "
                        + (engine.instructions ?? "its instructions")
                        + "; leave the option out for the fastest engine that it supports")
            }
            return engine
        }
    }
}

/// The values of `verify --format`.
enum OutputFormat: String, Choice {
    case json, text
    case verifyReceipt = "verify-receipt"
}

/// Parses the value of `verify --in-app`.
func inAppArgument(_ text: String) throws -> InAppSelection {
    guard let selection = InAppSelection(text: text) else {
        throw ValidationError("write all, latest, none or product=ID")
    }
    return selection
}

/// The value of `verify --device-id`. The kind of evidence decides which form is compared.
struct DeviceArgument: ExpressibleByArgument {
    /// The argument as written: for StoreKit 2, AppStore.deviceVerificationID.
    let text: String
    /// The argument's octets, for app receipts; nil when it is not hexadecimal.
    let octets: [UInt8]?

    init?(argument: String) {
        guard !argument.isEmpty else { return nil }
        text = argument
        octets = DeviceText.octets(argument)
    }
}

/// Parses the moment that a question names.
@Sendable func momentArgument(_ text: String) throws -> DateArgument {
    guard let moment = DateArgument(argument: text) else {
        throw ValidationError("write a time " + DateArgument.help)
    }
    guard Timestamp.moments.contains(moment.timestamp) else {
        throw ValidationError("write a time of the years 2008 to 9999")
    }
    return moment
}

/// Parses the address of a server that this tool asks: by frames, for it is no client of HTTP.
func serverArgument(_ text: String) throws -> Endpoint {
    let endpoint = try endpointArgument(text)
    guard !endpoint.isHTTP else {
        throw ValidationError(
            "this command does not speak HTTP: write tcp://HOST:PORT, tls://HOST:PORT or unix:PATH")
    }
    return endpoint
}

/// Parses a timeout in seconds.
func timeoutArgument(_ text: String) throws -> Duration {
    let longest = ClientOptions.longestTimeout.components.seconds
    guard let seconds = Double(text),
        (0.001...Double(longest)).contains(seconds)
    else { throw ValidationError("write seconds above 0, such as 0.5, and at most \(longest)") }
    return .seconds(seconds)
}

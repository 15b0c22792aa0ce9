import ArgumentParser
import Assay
import AssayClient
import AssayIO
import AssayModels

/// An option with a fixed set of values.
protocol Choice: RawRepresentable<String>, CaseIterable, CustomStringConvertible, Sendable {}

extension Choice {
    var description: String { rawValue }
    static var names: String { allCases.map(\.rawValue).joined(separator: ", ") }
}

/// Parses a `Choice`. The error for an unknown value suggests the nearest one.
@Sendable func choiceArgument<Value: Choice>(_ text: String) throws -> Value {
    if let value = Value(rawValue: text) { return value }
    throw ValidationError(Suggestion.remedy(for: text, among: Value.allCases.map(\.rawValue)))
}

extension CompletionKind {
    /// Completes the values of a `Choice`.
    static func choices<Value: Choice>(_ type: Value.Type) -> CompletionKind {
        .list(Value.allCases.map(\.rawValue))
    }
}

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

/// Parses the name of an environment.
@Sendable func environmentArgument(_ text: String) throws -> StoreEnvironment {
    do throws(UnknownEnvironment) {
        return try StoreEnvironment.named(text)
    } catch {
        throw ValidationError(error.remedy)
    }
}

extension StoreEnvironment {
    /// The names, for help.
    static var names: String { known.map(\.rawValue).joined(separator: ", ") }
}

extension CompletionKind {
    /// Completes the names of environments.
    static var environments: CompletionKind { .list(StoreEnvironment.known.map(\.rawValue)) }
}

/// The values of `serve --log-level`.
enum LogLevelChoice: String, Choice {
    case info, debug
}

/// The values of `serve --engine`.
enum EngineChoice: String, Choice {
    case auto, ifma, avx2, portable, openssl

    /// The engine. Throws if this processor does not support it.
    var supported: SignatureEngine {
        get throws(Failure) {
            guard let engine = SignatureEngine(rawValue: rawValue) else { return .best }
            guard engine.isSupported else {
                throw Failure(
                    "--engine \(self): this processor, or its operating system, lacks "
                        + (engine == .ifma ? "AVX-512 IFMA" : "AVX2")
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

/// A point in time (RFC 3339).
struct DateArgument: ExpressibleByArgument {
    let timestamp: Timestamp

    init?(argument: String) {
        guard let timestamp = RFC3339.timestamp(argument) else { return nil }
        self.timestamp = timestamp
    }

    static let help = "as in RFC 3339, such as 2025-09-05T01:24:32Z"
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

/// Parses an address argument. Errors keep the message of `EndpointError`.
func endpointArgument(_ text: String) throws -> Endpoint {
    do throws(EndpointError) {
        return try Endpoint(text)
    } catch {
        throw ValidationError(error.description)
    }
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

/// Parses an App Store id, a positive number.
func appAppleIdArgument(_ text: String) throws -> Int64 {
    guard let id = Int64(text), id > 0 else {
        throw ValidationError("write the app's App Store id as a positive whole number")
    }
    return id
}

package import ArgumentParser
import Assay
package import AssayIO
package import AssayModels

/// Parses the name of an environment.
@Sendable package func environmentArgument(_ text: String) throws -> StoreEnvironment {
    do throws(UnknownEnvironment) {
        return try StoreEnvironment.named(text)
    } catch {
        throw ValidationError(error.remedy)
    }
}

extension StoreEnvironment {
    /// The names, for help.
    package static var names: String { known.map(\.rawValue).joined(separator: ", ") }
}

extension CompletionKind {
    /// Completes the names of environments.
    package static var environments: CompletionKind {
        .list(StoreEnvironment.known.map(\.rawValue))
    }
}

/// A point in time (RFC 3339).
package struct DateArgument: ExpressibleByArgument {
    package let timestamp: Timestamp

    package init?(argument: String) {
        guard let timestamp = RFC3339.timestamp(argument) else { return nil }
        self.timestamp = timestamp
    }

    package static let help = "as in RFC 3339, such as 2025-09-05T01:24:32Z"
}

/// Parses an address argument. Errors keep the message of `EndpointError`.
package func endpointArgument(_ text: String) throws -> Endpoint {
    do throws(EndpointError) {
        return try Endpoint(text)
    } catch {
        throw ValidationError(error.description)
    }
}

/// Parses an App Store id, a positive number.
package func appAppleIdArgument(_ text: String) throws -> Int64 {
    guard let id = Int64(text), id > 0 else {
        throw ValidationError("write the app's App Store id as a positive whole number")
    }
    return id
}

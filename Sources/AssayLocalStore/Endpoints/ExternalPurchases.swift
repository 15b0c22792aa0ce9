import AssayBytes

/// The reports of external purchases that a backend sent, of both environments.
struct ExternalPurchaseReports: Sendable {
    private var reports: [APIEnvironment: [String: [UInt8]]] = [:]

    subscript(environment: APIEnvironment, request: String) -> [UInt8]? {
        reports[environment]?[request.lowercased()]
    }

    /// Adds a report. Returns false if its request was taken before, or there are too many.
    mutating func add(_ json: [UInt8], of request: String, in environment: APIEnvironment) -> Bool {
        var known = reports[environment] ?? [:]
        guard known[request.lowercased()] == nil, known.count < LocalStoreLimits.records else {
            return false
        }
        known[request.lowercased()] = json
        reports[environment] = known
        return true
    }
}

/// The External Purchase Server API. Known from the documentation.
extension LocalStore {
    mutating func externalPurchases(
        _ call: EndpointCall, _ request: StoreRequest
    ) throws(AppleError) -> StoreResponse {
        if let name = call.parameters.first {
            guard let report = externalReports[call.environment, name] else { return .bare(404) }
            return StoreResponse(body: report)
        }
        let report = try request.object()
        guard let name = report["requestIdentifier"]?.string, UUIDText.isValid(name) else {
            throw .invalidRequestIdentifier
        }
        let hasItems = report["lineItems"]?.elements?.first { _ in true } != nil
        // Reports of a token of the sandbox go there, and others do not.
        let isSandbox = report["externalPurchaseId"]?.string?.hasPrefix("SANDBOX")
        guard isSandbox == (call.environment == .sandbox),
            let status = report["status"]?.string, !status.isEmpty,
            (status == "LINE_ITEM") == hasItems,
            externalReports.add(request.body, of: name, in: call.environment)
        else { throw .generalBadRequest }
        return .bare(200)
    }
}

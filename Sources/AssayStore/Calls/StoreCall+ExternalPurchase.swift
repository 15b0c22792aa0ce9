import AssayBytes
public import AssayModels

/// The External Purchase Server API: reports of purchases outside of the App Store. Known from the
/// documentation, and never seen in operation by this project.
extension StoreCall {
    /// Sends a report (PUT /externalPurchase/v1/reports). Apple takes each request identifier once.
    ///
    /// - Parameter json: Apple's ExternalPurchaseReport. A report of a token of the sandbox goes
    ///   there.
    public static func sendExternalPurchaseReport(
        json: [UInt8]
    ) throws(StoreError) -> StoreCall {
        let report = try JSONRules(text: json)
        _ = try report.uuid("requestIdentifier")
        let id = try report.text("externalPurchaseId")
        let status = try report.text("status")
        let hasItems = report.has("lineItems")
        guard (status == "LINE_ITEM") == hasItems else {
            throw .invalidArgument(
                hasItems
                    ? "lineItems belongs to the status LINE_ITEM alone, not to \(status.prefix(64))"
                    : "lineItems is missing for the status LINE_ITEM")
        }
        if hasItems { _ = try report.objects("lineItems") }
        var call = reports("send-external-purchase-report", "PUT", "")
        call.body = json
        if id.hasPrefix(DecodedExternalPurchaseToken.sandboxPrefix) {
            call.automaticEnvironment = .sandbox
        }
        return call
    }

    /// Reads a report back (GET /externalPurchase/v1/reports/{request}).
    public static func externalPurchaseReport(
        _ request: String
    ) throws(StoreError) -> StoreCall {
        reports(
            "external-purchase-report", "GET", "/" + (try segment(request, "request id")))
    }

    private static func reports(_ name: String, _ method: String, _ path: String) -> StoreCall {
        var call = StoreCall(name, method, "/externalPurchase/v1/reports" + path)
        call.findsEnvironment = false
        // Apple documents no rate.
        call.callClass = .change
        return call
    }
}

/// A token of an external purchase, as the app or the website got it. Nobody signs it: it says what
/// to report, and proves nothing.
public struct DecodedExternalPurchaseToken: Sendable, Hashable {
    /// Names the token in reports.
    public let externalPurchaseId: String
    /// When the token was made.
    public let tokenCreationDate: Timestamp
    /// The app.
    public let appAppleId: Int64
    /// The app.
    public let bundleId: String
    /// `SERVICES` or `ACQUISITION`, of custom links alone.
    public let tokenType: String?
    /// When a token of a custom link ends.
    public let tokenExpirationDate: Timestamp?

    static let sandboxPrefix = "SANDBOX"

    /// The environment of its reports.
    public var environment: StoreEnvironment {
        externalPurchaseId.hasPrefix(Self.sandboxPrefix) ? .sandbox : .production
    }

    /// Decodes the Base64URL text of a token.
    ///
    /// - Throws: `invalidArgument`, which names what is wrong.
    public init(_ text: String) throws(StoreError) {
        let digits = Array(text.utf8.prefix { $0 != UInt8(ascii: "=") })
        guard digits.count <= StoreLimits.signedBytes,
            let json = try? Base64URL.decode(digits.span)
        else { throw .invalidArgument("the token is not Base64URL") }
        let members = try JSONRules(text: json)
        externalPurchaseId = try members.text("externalPurchaseId")
        tokenCreationDate = Timestamp(
            milliseconds: try members.integer("tokenCreationDate", 0...Int64.max))
        appAppleId = try members.integer("appAppleId", 0...Int64.max)
        bundleId = try members.text("bundleId")
        tokenType = try members.optionalText("tokenType")
        tokenExpirationDate =
            members.has("tokenExpirationDate")
            ? Timestamp(milliseconds: try members.integer("tokenExpirationDate", 0...Int64.max))
            : nil
    }
}

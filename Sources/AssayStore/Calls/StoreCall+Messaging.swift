/// Retention messaging: images and messages that the App Store shows to customers who cancel.
/// JSON bodies and answers are Apple's, and nothing in them is signed.
extension StoreCall {
    private static let messaging = "/inApps/v1/messaging/"

    private static func messaging(
        _ name: String, _ method: String, _ path: String, body: [UInt8]? = nil,
        _ callClass: StoreCallClass = .messaging
    ) -> StoreCall {
        var call = StoreCall(name, method, messaging + path)
        call.body = body
        call.callClass = callClass
        call.findsEnvironment = false
        return call
    }

    /// Uploads an image (PUT /inApps/v1/messaging/image/{id}). The size is Apple's `imageSize`;
    /// nil is the default.
    public static func uploadImage(
        _ id: String, png: [UInt8], size: String? = nil
    ) throws(StoreError) -> StoreCall {
        var call = messaging(
            "upload-image", "PUT", "image/" + (try segment(id, "image id")), body: png)
        call.contentType = "image/png"
        if let size { call.query = [Parameter(name: "imageSize", value: size)] }
        return call
    }

    /// Deletes an image (DELETE /inApps/v1/messaging/image/{id}).
    public static func deleteImage(_ id: String) throws(StoreError) -> StoreCall {
        messaging("delete-image", "DELETE", "image/" + (try segment(id, "image id")))
    }

    /// Lists the images (GET /inApps/v1/messaging/image/list).
    public static func images() -> StoreCall { messaging("images", "GET", "image/list") }

    /// Uploads a message (PUT /inApps/v1/messaging/message/{id}).
    public static func uploadMessage(
        _ id: String, json: [UInt8]
    ) throws(StoreError) -> StoreCall {
        messaging(
            "upload-message", "PUT", "message/" + (try segment(id, "message id")),
            body: try object(json))
    }

    /// Deletes a message (DELETE /inApps/v1/messaging/message/{id}).
    public static func deleteMessage(_ id: String) throws(StoreError) -> StoreCall {
        messaging("delete-message", "DELETE", "message/" + (try segment(id, "message id")))
    }

    /// Lists the messages (GET /inApps/v1/messaging/message/list).
    public static func messages() -> StoreCall { messaging("messages", "GET", "message/list") }

    /// Sets the message that a product shows in a language without an answer of the real-time URL
    /// (PUT /inApps/v1/messaging/default/{product}/{locale}).
    public static func setDefaultMessage(
        product: String, locale: String, json: [UInt8]
    ) throws(StoreError) -> StoreCall {
        messaging(
            "set-default-message", "PUT", try defaultPath(product, locale),
            body: try object(json))
    }

    /// Reads that message (GET /inApps/v1/messaging/default/{product}/{locale}).
    public static func defaultMessage(
        product: String, locale: String
    ) throws(StoreError) -> StoreCall {
        messaging("default-message", "GET", try defaultPath(product, locale))
    }

    /// Deletes that message (DELETE /inApps/v1/messaging/default/{product}/{locale}).
    public static func deleteDefaultMessage(
        product: String, locale: String
    ) throws(StoreError) -> StoreCall {
        messaging("delete-default-message", "DELETE", try defaultPath(product, locale))
    }

    private static func defaultPath(
        _ product: String, _ locale: String
    ) throws(StoreError) -> String {
        "default/" + (try segment(product, "product id")) + "/" + (try segment(locale, "locale"))
    }

    /// Sets the URL that the App Store asks for a message
    /// (PUT /inApps/v1/messaging/realtime/url).
    public static func setRealtimeURL(json: [UInt8]) throws(StoreError) -> StoreCall {
        messaging("set-realtime-url", "PUT", "realtime/url", body: try object(json))
    }

    /// Reads that URL (GET /inApps/v1/messaging/realtime/url).
    public static func realtimeURL() -> StoreCall {
        messaging("realtime-url", "GET", "realtime/url")
    }

    /// Deletes that URL (DELETE /inApps/v1/messaging/realtime/url).
    public static func deleteRealtimeURL() -> StoreCall {
        messaging("delete-realtime-url", "DELETE", "realtime/url")
    }

    /// Has the App Store test that URL (POST /inApps/v1/messaging/performanceTest).
    public static func performanceTest(json: [UInt8]) throws(StoreError) -> StoreCall {
        messaging(
            "performance-test", "POST", "performanceTest", body: try object(json), .rare)
    }

    /// The result of that test (GET /inApps/v1/messaging/performanceTest/result/{request}).
    public static func performanceTestResult(_ request: String) throws(StoreError) -> StoreCall {
        messaging(
            "performance-test-result", "GET",
            "performanceTest/result/" + (try segment(request, "request id")), .rare)
    }
}

import AssayBytes
import AssayModels

/// The Retention Messaging API of one environment: images, messages, defaults, the realtime URL
/// and performance tests.
///
/// Images and messages are approved at once. In production a URL needs a passing test in the
/// sandbox. The store sends no load: a performance test passes if a realtime URL is set.
struct RetentionMessaging: Sendable {
    /// The size of each image.
    private var images: [String: String] = [:]
    /// The image of each message, if it has one.
    private var messages: [String: String?] = [:]
    /// Message identifiers by product and locale.
    private var defaults: [String: String] = [:]
    private var realtimeURL: String?
    /// The URL that each performance test was of.
    private var tests: [String: String] = [:]

    /// Whether a performance test has passed.
    var hasPassed: Bool { !tests.isEmpty }

    /// Whether there is a message that an answer can name.
    func has(message id: String) -> Bool { messages[id.lowercased()] != nil }

    private static let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]

    mutating func answer(
        _ call: EndpointCall, _ request: StoreRequest, at now: Timestamp, hasPassed: Bool,
        isKnownTransaction: Bool
    ) throws(AppleError) -> StoreResponse {
        switch (call.variant, call.parameters.count) {
        case ("image", 1): return try image(call, request)
        case ("message", 1): return try message(call, request)
        case ("default", 2): return try standard(call, request)
        case ("realtime", 1) where call.parameters[0] == "url":
            return try realtime(call, request, hasPassed: hasPassed)
        case ("performanceTest", 0), ("performanceTest", 2):
            return try performanceTest(call, now, isKnownTransaction)
        default: return .bare(404)
        }
    }

    // MARK: Images and messages

    private mutating func image(
        _ call: EndpointCall, _ request: StoreRequest
    ) throws(AppleError) -> StoreResponse {
        let id = call.parameters[0].lowercased()
        switch call.method {
        case .get where id == "list":
            let list = images.sorted { $0.key < $1.key }
            return .json { answer in
                answer.array("imageIdentifiers") { array in
                    for (id, size) in list {
                        array.object { item in
                            item.member("imageIdentifier", id)
                            item.member("imageState", "APPROVED")
                            item.member("imageSize", size)
                        }
                    }
                }
            }
        case .put:
            guard UUIDText.isValid(id) else { throw .generalBadRequest }
            guard request.body.starts(with: Self.signature) else { throw .invalidImage }
            let size = request.query.first { $0.name == "imageSize" }?.value ?? "FULL_SIZE"
            guard size == "FULL_SIZE" || size == "BULLET_POINT" else { throw .invalidImageSize }
            guard images[id] == nil else { throw .imageExists }
            guard images.count < LocalStoreLimits.records else { throw .maximumImages }
            images[id] = size
            return .bare(200)
        case .delete:
            guard images[id] != nil else { throw .imageNotFound }
            guard !messages.values.contains(id) else { throw .imageInUse }
            images[id] = nil
            return .bare(200)
        case .get, .post: return .bare(404)
        }
    }

    private mutating func message(
        _ call: EndpointCall, _ request: StoreRequest
    ) throws(AppleError) -> StoreResponse {
        let id = call.parameters[0].lowercased()
        switch call.method {
        case .get where id == "list":
            let list = messages.sorted { $0.key < $1.key }
            return .json { answer in
                answer.array("messageIdentifiers") { array in
                    for (id, _) in list {
                        array.object { item in
                            item.member("messageIdentifier", id)
                            item.member("messageState", "APPROVED")
                        }
                    }
                }
            }
        case .put:
            guard UUIDText.isValid(id) else { throw .generalBadRequest }
            let body = try request.object()
            guard let header = body["header"]?.string, let text = body["body"]?.string else {
                throw .generalBadRequest
            }
            guard header.count <= 66 else { throw .headerTooLong }
            guard text.count <= 144 else { throw .bodyTooLong }
            let image = body["image"]?["imageIdentifier"]?.string?.lowercased()
            if let image, images[image] == nil { throw .imageNotFound }
            guard messages[id] == nil else { throw .messageExists }
            guard messages.count < LocalStoreLimits.records else { throw .maximumMessages }
            messages[id] = .some(image)
            return .bare(200)
        case .delete:
            guard messages[id] != nil else { throw .messageNotFound }
            messages.removeValue(forKey: id)
            defaults = defaults.filter { $0.value != id }
            return .bare(200)
        case .get, .post: return .bare(404)
        }
    }

    // MARK: Defaults, the realtime URL, performance tests

    private mutating func standard(
        _ call: EndpointCall, _ request: StoreRequest
    ) throws(AppleError) -> StoreResponse {
        let key = call.parameters.joined(separator: "/")
        switch call.method {
        case .put:
            guard let id = try request.object()["messageIdentifier"]?.string?.lowercased(),
                messages[id] != nil
            else { throw .messageNotFound }
            guard defaults.count < LocalStoreLimits.records else { throw .maximumMessages }
            defaults[key] = id
            return .bare(200)
        case .get:
            guard let id = defaults[key] else { throw .defaultMessageNotFound }
            return .json { $0.member("messageIdentifier", id) }
        case .delete:
            guard defaults.removeValue(forKey: key) != nil else { throw .defaultMessageNotFound }
            return .bare(200)
        case .post: return .bare(404)
        }
    }

    private mutating func realtime(
        _ call: EndpointCall, _ request: StoreRequest, hasPassed: Bool
    ) throws(AppleError) -> StoreResponse {
        switch call.method {
        case .put:
            guard let url = try request.object()["realtimeURL"]?.string, url.utf8.count <= 256,
                url.hasPrefix("https://") || url.hasPrefix("http://")
            else { throw .invalidRealtimeURL }
            guard call.environment == .sandbox || hasPassed else { throw .noPassingTest }
            realtimeURL = url
            return .bare(200)
        case .get:
            guard let url = realtimeURL else { throw .realtimeURLNotFound }
            return .json { $0.member("realtimeURL", url) }
        case .delete:
            guard realtimeURL != nil else { throw .realtimeURLNotFound }
            realtimeURL = nil
            return .bare(200)
        case .post: return .bare(404)
        }
    }

    private mutating func performanceTest(
        _ call: EndpointCall, _ now: Timestamp, _ isKnownTransaction: Bool
    ) throws(AppleError) -> StoreResponse {
        if call.method == .get, call.parameters.first == "result" {
            guard let url = tests[call.parameters[1]] else { throw .performanceTestNotFound }
            return .json { answer in
                Self.writeConfiguration(&answer)
                answer.member("target", url)
                answer.member("result", "PASS")
                answer.member("successRate", 100 as Int64)
                answer.member("numPending", 0 as Int64)
                answer.object("responseTimes") { $0.member("average", 0 as Int64) }
                answer.object("failures") { _ in }
            }
        }
        guard call.method == .post, call.parameters.isEmpty else { return .bare(404) }
        guard isKnownTransaction else { throw .invalidPerformanceTest }
        guard let url = realtimeURL else { throw .realtimeURLNotFound }
        guard tests.count < LocalStoreLimits.records else { throw .invalidPerformanceTest }
        let id = "test-\(now.milliseconds)-\(tests.count + 1)"
        tests[id] = url
        return .json { answer in
            Self.writeConfiguration(&answer)
            answer.member("requestId", id)
        }
    }

    private static func writeConfiguration(_ answer: inout JSONWriter) {
        answer.object("config") { config in
            config.member("maxConcurrentRequests", 1 as Int64)
            config.member("totalRequests", 0 as Int64)
            config.member("totalDuration", 0 as Int64)
            config.member("responseTimeThreshold", 1000 as Int64)
            config.member("successRateThreshold", 95 as Int64)
        }
    }
}

import AssayBytes
import AssayModels

/// What comes into a store from outside. The same inputs in the same order make the same store
/// again; its evidence then has other signatures.
enum StoreInput: Sendable {
    /// A customer that is there from the beginning: the JSON of its scenario.
    case initialCustomer([UInt8], APIEnvironment)
    /// A process begins to serve the store, and sends the notifications of these routes.
    case began(notifying: [NotificationRoute])
    /// A request, and the bundle identifier of its token; nil for a token that was refused.
    case request(StoreRequest, bundleId: String?)
    /// Time went by on its own.
    case moved(to: Timestamp)
    /// The result of sending the notification with this id, and whether it is not sent again.
    case sent(Int, SendResult, isLast: Bool)
}

/// A line of JSON for each input. It never has a token.
extension StoreInput {
    var line: [UInt8] {
        var writer = JSONWriter()
        writer.object { object in
            switch self {
            case .initialCustomer(let scenario, let environment):
                object.member("type", "resident")
                object.member("environment", environment.rawValue)
                object.member("scenario", Self.text(scenario))
            case .began(let routes):
                object.member("type", "began")
                object.array("notifies") { list in
                    for route in routes { list.value(route.rawValue) }
                }
            case .request(let request, let bundleId):
                object.member("type", "request")
                object.member("bundleId", bundleId)
                object.write(request)
            case .moved(let moment):
                object.member("type", "moved")
                object.member("to", moment.milliseconds)
            case .sent(let id, let result, let isLast):
                object.member("type", "sent")
                object.member("id", Int64(id))
                object.member("result", result.rawValue)
                if isLast { object.member("last", true) }
            }
        }
        return writer.text + [UInt8(ascii: "\n")]
    }

    /// Reads a line; nil if it is none of a store.
    init?(line: ArraySlice<UInt8>) {
        guard let document = try? JSONDocument.parse(Array(line), limit: .max),
            let object = document.root.members, let type = object["type"]?.string
        else { return nil }
        switch type {
        case "resident":
            guard let environment = object["environment"]?.string.flatMap(APIEnvironment.init),
                let scenario = Self.bytes(object["scenario"])
            else { return nil }
            self = .initialCustomer(scenario, environment)
        case "began":
            guard let names = object["notifies"]?.elements else { return nil }
            self = .began(
                notifying: names.compactMap { $0.string.flatMap(NotificationRoute.init) })
        case "request":
            guard let request = StoreRequest(object) else { return nil }
            self = .request(request, bundleId: object["bundleId"]?.string)
        case "moved":
            guard let moment = object["to"]?.int64 else { return nil }
            self = .moved(to: Timestamp(milliseconds: moment))
        case "sent":
            guard let id = object["id"]?.int64,
                let result = object["result"]?.string.flatMap(SendResult.init)
            else { return nil }
            self = .sent(Int(id), result, isLast: object["last"]?.bool ?? false)
        default: return nil
        }
    }

    /// Bytes of any kind in a JSON string.
    fileprivate static func text(_ bytes: [UInt8]) -> String {
        String(decoding: Base64.encode(bytes.span), as: UTF8.self)
    }

    fileprivate static func bytes(_ value: JSONValue?) -> [UInt8]? {
        guard let text = value?.string.map({ Array($0.utf8) }) else { return nil }
        return try? Base64.decode(text.span)
    }
}

extension JSONWriter {
    fileprivate mutating func write(_ request: StoreRequest) {
        member("method", request.method.rawValue)
        member("path", request.path)
        array("query") { list in
            for (name, value) in request.query {
                list.object { pair in
                    pair.member("name", name)
                    pair.member("value", value)
                }
            }
        }
        member("contentType", request.contentType)
        member("body", StoreInput.text(request.body))
        member("time", request.time)
    }
}

extension StoreRequest {
    fileprivate init?(_ object: JSONObject) {
        guard let method = object["method"]?.string.flatMap(StoreMethod.init),
            let path = object["path"]?.string, let query = object["query"]?.elements,
            let contentType = object["contentType"]?.string,
            let body = StoreInput.bytes(object["body"]), let time = object["time"]?.int64
        else { return nil }
        self.init(method: method, path: path, contentType: contentType, body: body, time: time)
        for pair in query {
            guard let name = pair["name"]?.string, let value = pair["value"]?.string else {
                return nil
            }
            self.query.append((name: name, value: value))
        }
    }
}

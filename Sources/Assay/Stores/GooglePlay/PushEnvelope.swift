import AssayBytes
import AssayModels

/// JSON with the two parts of a Pub/Sub push: the Authorization header and the body. Unverified.
struct PushEnvelope: Sendable {
    /// The value of the header, as it came.
    let authorization: [UInt8]
    /// The body of the push.
    let body: [UInt8]

    /// Finds the parts in an object. Nil if it does not have both.
    ///
    /// The body is a string with the text as it was posted, or the object itself: no signature
    /// covers it, so its form has no weight.
    static func find(_ text: Span<UInt8>) -> PushEnvelope? {
        guard text.count > 0, text[0] == UInt8(ascii: "{"),
            let document = try? JSONDocument.parse(text, limit: Limits.pushEnvelopeBytes)
        else { return nil }
        let root = document.root
        guard let authorization = root["authorization"] ?? root["Authorization"],
            authorization.kind == .string, let header = authorization.bytes,
            let body = root["body"]
        else { return nil }
        switch body.kind {
        case .string: return PushEnvelope(authorization: header, body: body.bytes ?? [])
        case .object: return PushEnvelope(authorization: header, body: body.raw)
        default: return nil
        }
    }

    /// The token of the header: what is after `Bearer`, or the whole value without a scheme.
    var token: [UInt8] {
        let scheme = Array("bearer ".utf8)
        guard authorization.prefix(scheme.count).map(\.lowercased) == scheme else {
            return authorization
        }
        return Array(authorization.dropFirst(scheme.count).drop { $0 == UInt8(ascii: " ") })
    }
}

extension UInt8 {
    fileprivate var lowercased: UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) ? self | 0x20 : self
    }
}

/// The message of a Pub/Sub push with its notification. Nobody signs it.
struct PushMessage: Sendable {
    let id: String
    let subscription: String?
    /// The DeveloperNotification.
    let data: JSONDocument

    init(_ body: [UInt8]) throws(Refusal) {
        let document = try JSONDocument.payload(body, named: "body")
        guard let message = document.root["message"], message.kind == .object else {
            throw Refusal(
                .malformed,
                "the body has no message: it is not that of a Pub/Sub push, or payload unwrapping "
                    + "is on")
        }
        guard let id = message["messageId"]?.string ?? message["message_id"]?.string, !id.isEmpty
        else { throw Refusal(.malformed, "the message has no messageId") }
        guard let data = message["data"]?.bytes else {
            throw Refusal(.malformed, "the message has no data")
        }
        self.id = id
        subscription = document.root["subscription"]?.string
        let text: [UInt8]
        do throws(Base64Error) {
            text = try Base64.decodeLenient(data.span)
        } catch {
            throw Refusal(.malformed, "the message's data is not base64: \(error)")
        }
        self.data = try JSONDocument.payload(text, named: "message's data")
    }
}

extension PushEnvelope {
    /// What the token and the message say, as far as they can be read. UNVERIFIED.
    var inspected: (header: JSONDocument?, payload: JSONDocument?) {
        let segments = token.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        func member(_ index: Int) -> [UInt8]? {
            guard index < segments.count,
                let text = try? Base64URL.decode(Array(segments[index]).span),
                (try? JSONDocument.parse(text)) != nil
            else { return nil }
            return text
        }
        let message = try? PushMessage(body)
        var writer = JSONWriter()
        writer.object { object in
            object.member("tokenHeader", raw: member(0))
            object.member("tokenClaims", raw: member(1))
            object.member("messageId", message?.id)
            object.member("subscription", message?.subscription)
        }
        return (try? JSONDocument.parse(writer.text, limit: .max), message?.data)
    }
}

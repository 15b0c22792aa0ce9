import AssayModels
import AssayWire
import Foundation
import TestSupport
import Testing

/// Compares the codec with `conformance/golden`, which protobuf's own runtime wrote.
struct GoldenTests {
    /// One frame and its decoded form, in protobuf's JSON mapping.
    struct Golden: CustomTestStringConvertible {
        let name: String
        let frame: [UInt8]
        let head: [String: Any]
        let body: [UInt8]
        /// Whether the frame is what an encoder writes for the decoded form.
        let isCanonical: Bool

        var testDescription: String { name }
    }

    private static func read(_ file: String) throws -> [Golden] {
        let path = Vectors.packageRoot + "/conformance/golden/" + file
        let text = try String(contentsOfFile: path, encoding: .utf8)
        return try text.split(separator: "\n").map { line in
            let object = try JSONSerialization.jsonObject(with: Data(line.utf8))
            let members = try #require(object as? [String: Any])
            return Golden(
                name: try #require(members["name"] as? String),
                frame: try bytes(ofHex: #require(members["frame"] as? String)),
                head: members["head"] as? [String: Any] ?? [:],
                body: try bytes(ofHex: members["body"] as? String ?? ""),
                isCanonical: members["canonical"] as? Bool ?? false)
        }
    }

    private static func bytes(ofHex text: String) throws -> [UInt8] {
        let digits = text.compactMap(\.hexDigitValue)
        return stride(from: 0, to: digits.count, by: 2).map { index in
            UInt8(digits[index] << 4 | digits[index + 1])
        }
    }

    private let codec = MessageCodec()

    /// Returns the head's bytes after a check of the frame's boundaries at every length.
    private func head(of golden: Golden) throws -> [UInt8] {
        let early = (0..<min(golden.frame.count, 200)).filter {
            Self.frame(Array(golden.frame[..<$0])) != nil
        }
        #expect(early == [], "\(golden.name)")
        let frame = try #require(Self.frame(golden.frame), "\(golden.name)")
        #expect(frame.end == golden.frame.count)
        #expect(Array(golden.frame[frame.body]) == golden.body)
        return Array(golden.frame[frame.head])
    }

    private static func frame(_ bytes: [UInt8]) -> FrameDecoder.Frame? {
        if case .frame(let frame) = FrameDecoder(limits: .response).next(in: bytes.span) {
            return frame
        }
        return nil
    }

    @Test func requests() throws {
        let requests = try Self.read("requests.jsonl")
        #expect(requests.count > 20)
        for golden in requests {
            let bytes = try head(of: golden)
            let head = try codec.decodeRequest(bytes.span)
            #expect(String(head.id) == golden.head["id"] as? String, "\(golden.name)")
            var encoded: [UInt8] = []
            codec.encodeFrame(head, body: golden.body, into: &encoded)
            #expect((encoded == golden.frame) == golden.isCanonical, "\(golden.name)")
        }
    }

    @Test func responses() throws {
        let responses = try Self.read("responses.jsonl")
        #expect(responses.count > 90)
        for golden in responses {
            let bytes = try head(of: golden)
            guard let head = try? codec.decodeResponse(bytes.span) else {
                Issue.record("\(golden.name): not decoded")
                continue
            }
            #expect(String(head.id) == golden.head["id"] as? String ?? "0", "\(golden.name)")
            check(head, golden)
            var encoded: [UInt8] = []
            codec.encodeFrame(head, body: golden.body, into: &encoded)
            let frame = try #require(Self.frame(encoded), "\(golden.name)")
            let again = Array(encoded[frame.head])
            #expect(try codec.decodeResponse(again.span) == head, "\(golden.name)")
            // A server does not write what it does not know, and writes some zeros explicitly.
            let isExact = Self.inexact.allSatisfy { !golden.name.contains($0) }
            #expect((encoded == golden.frame) == (golden.isCanonical && isExact), "\(golden.name)")
        }
    }

    private static let inexact = [
        "unknown", "unspecified", "resolution", "fetched", "an empty head",
    ]

    private func check(_ head: ResponseHead, _ golden: Golden) {
        let name = golden.name
        let members = golden.head["verification"] as? [String: Any] ?? [:]
        if members["verdict"] is NSNumber || members["verdict"] as? String == "VERDICT_UNSPECIFIED"
        {
            // A verdict of a newer server is never a result.
            #expect(head.status == .unknown && head.result == .none, "\(name)")
            return
        }
        // An unknown number has no name.
        let status = golden.head["status"] ?? "STATUS_OK"
        #expect(Self.statuses[status as? String ?? ""] ?? .unknown == head.status, "\(name)")
        #expect(head.message == golden.head["message"] as? String ?? "", "\(name)")
        #expect(
            Int(head.retryAfterMilliseconds) == golden.head["retryAfterMs"] as? Int ?? 0,
            "\(name)")
        let code = golden.head["appStoreErrorCode"] as? String
        #expect(head.appStoreErrorCode.map { "\($0)" } == code, "\(name)")
        let results = ["pong", "health", "info", "verification", "resolution", "fetched"]
        let expected = results.first { golden.head[$0] != nil }
        switch head.result {
        case .none: #expect(expected == nil, "\(name)")
        case .pong: #expect(expected == "pong", "\(name)")
        case .health(let serving):
            let state = (golden.head["health"] as? [String: Any])?["status"] as? String
            #expect(serving == (state == "SERVING_STATUS_SERVING"), "\(name)")
        case .info(let info):
            let members = golden.head["info"] as? [String: Any]
            #expect(info.version == members?["version"] as? String ?? "", "\(name)")
        case .verification(let found): check(found, members, name)
        case .resolution(let found):
            let items = (golden.head["resolution"] as? [String: Any])?["items"] as? [Any] ?? []
            #expect(found.items.count == items.count, "\(name)")
        case .fetched(let found):
            let members = golden.head["fetched"] as? [String: Any] ?? [:]
            #expect(found.environment.rawValue == members["environment"] as? String, "\(name)")
            #expect(found.revision == members["revision"] as? String, "\(name)")
            let items = members["items"] as? [[String: Any]] ?? []
            #expect(found.items.map(\.label) == items.map { $0["label"] as? String }, "\(name)")
        }
    }

    private static let statuses = Dictionary(
        uniqueKeysWithValues: [
            "OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND",
            "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
            "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS",
            "UNAUTHENTICATED",
        ].enumerated().map {
            ("STATUS_" + $0.element, AssayWire.Status(rawValue: Int32($0.offset))!)
        }
    )

    private func check(_ found: Verification, _ members: [String: Any], _ name: String) {
        #expect("VERDICT_" + found.verdict.name == members["verdict"] as? String, "\(name)")
        let kind = (members["kind"] as? String)?.dropFirst("EVIDENCE_KIND_".count)
        #expect(
            found.kind?.name == kind?.lowercased().replacing("_", with: "-"), "\(name)")
        #expect(found.detail == members["detail"] as? String, "\(name)")
        #expect(found.dedupKey == members["dedupKey"] as? String, "\(name)")
        #expect(found.environment?.rawValue == members["environment"] as? String, "\(name)")
        let certificate = members["certificate"] as? [String: Any]
        #expect(found.certificate?.serial == certificate?["serial"] as? String, "\(name)")
        switch found.evidence {
        case .transaction(let signed): expect(members["transaction"], in: fields(signed), name)
        case .renewalInfo(let signed): expect(members["renewalInfo"], in: fields(signed), name)
        case .appTransaction(let signed):
            expect(members["appTransaction"], in: fields(signed), name)
        case .realtimeRequest(let signed):
            expect(members["realtimeRequest"], in: fields(signed), name)
        default: break
        }
    }

    @Test func broken() throws {
        let broken = try Self.read("broken.jsonl")
        #expect(broken.count > 20)
        for golden in broken {
            if let frame = Self.frame(golden.frame) {
                let head = Array(golden.frame[frame.head])
                #expect(throws: MessageError.self, "\(golden.name)") {
                    try codec.decodeResponse(head.span)
                }
            } else {
                #expect(Self.isFault(golden.frame), "\(golden.name)")
            }
        }
    }

    private static func isFault(_ bytes: [UInt8]) -> Bool {
        if case .fault = FrameDecoder(limits: .response).next(in: bytes.span) { return true }
        return false
    }

    private func fields<Payload>(_ signed: VerifiedPayload<Payload>) -> [Mirror.Child] {
        let payload = signed.payload
        return Array(Mirror(reflecting: payload).children)
    }

    /// Expects the members of a payload under the model's names, which are the same.
    private func expect(_ member: Any?, in found: [Mirror.Child], _ name: String) {
        // The models write some names with ID, protobuf with Id.
        let texts = Dictionary(
            uniqueKeysWithValues: (member as? [String: Any] ?? [:]).compactMap { name, value in
                Self.text(of: value).map { (name.lowercased(), $0) }
            })
        #expect(found.count > 6, "\(name)")
        for child in found {
            guard let label = child.label, let text = Self.text(child.value) else { continue }
            #expect(texts[label.lowercased()] == text, "\(name): \(label)")
        }
        let labels = found.compactMap { $0.label?.lowercased() }
        for member in texts.keys { #expect(labels.contains(member), "\(name): \(member)") }
    }

    /// Returns the text of a scalar of the JSON; nil for objects, lists and absent members.
    private static func text(of value: Any?) -> String? {
        if let text = value as? String { return text }
        return (value as? NSNumber)?.stringValue
    }

    /// Returns the text of a scalar property; nil for another one, and for an absent one.
    private static func text(_ value: Any) -> String? {
        if let text = value as? String { return text }
        if let flag = value as? Bool { return flag ? "1" : "0" }
        if let number = value as? Int32 { return "\(number)" }
        if let number = value as? Int64 { return "\(number)" }
        if let time = value as? Timestamp { return "\(time.milliseconds)" }
        if let value = value as? any RawRepresentable { return raw(value) }
        return nil
    }

    private static func raw<Value: RawRepresentable>(_ value: Value) -> String {
        "\(value.rawValue)"
    }
}

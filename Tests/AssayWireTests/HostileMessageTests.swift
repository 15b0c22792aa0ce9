import AssayModels
import AssayWire
import Testing

/// Tests heads from an attacker. No head crashes the codec or costs more than its size suggests.
struct HostileMessageTests {
    private let codec = MessageCodec()

    /// Encodes a tag and a length-prefixed value.
    private static func field(_ number: UInt8, _ content: [UInt8]) -> [UInt8] {
        precondition(number < 16)
        return [number << 3 | 2] + varint(UInt64(content.count)) + content
    }

    private static func varint(_ value: UInt64) -> [UInt8] {
        var value = value
        var bytes: [UInt8] = []
        while value >= 0x80 {
            bytes.append(UInt8(value & 0x7f) | 0x80)
            value >>= 7
        }
        return bytes + [UInt8(value)]
    }

    private func request(_ bytes: [UInt8]) -> Result<RequestHead, MessageError> {
        do throws(MessageError) {
            return .success(try codec.decodeRequest(bytes.span))
        } catch {
            return .failure(error)
        }
    }

    private func response(_ bytes: [UInt8]) -> Result<ResponseHead, MessageError> {
        do throws(MessageError) {
            return .success(try codec.decodeResponse(bytes.span))
        } catch {
            return .failure(error)
        }
    }

    private static let fullRequest = RequestHead(
        id: 300, call: .verify(VerifyCall(kind: .notification, expectations: .sample(.full))),
        app: "app", timeoutMilliseconds: 5)

    private static func bytes(_ head: RequestHead) -> [UInt8] {
        var bytes: [UInt8] = []
        MessageCodec().encode(head, into: &bytes)
        return bytes
    }

    private static var responses: [[UInt8]] {
        MessageTests.evidence(.full).map {
            var bytes: [UInt8] = []
            let verification = Verification(
                verdict: .valid, detail: "", kind: .transaction, certificate: .sample(.full),
                evidence: $0)
            MessageCodec().encode(
                ResponseHead(id: 1, result: .verification(verification)), into: &bytes)
            return bytes
        }
    }

    @Test func truncatedAtEveryByte() {
        let whole = Self.bytes(Self.fullRequest)
        var refused = 0
        for count in 0..<whole.count {
            if case .failure = request(Array(whole[..<count])) { refused += 1 }
        }
        #expect(refused > whole.count / 2)
        #expect(request(whole) == .success(Self.fullRequest))
        for whole in Self.responses {
            for count in 0..<whole.count { _ = response(Array(whole[..<count])) }
        }
    }

    /// Flips every bit of a request and overwrites random bytes of responses, with a fixed seed.
    @Test func mutations() {
        let whole = Self.bytes(Self.fullRequest)
        for position in whole.indices {
            for bit in 0..<8 {
                var mutated = whole
                mutated[position] ^= 1 << bit
                _ = request(mutated)
                _ = response(mutated)
            }
        }
        var random = SplitMix(state: 1)
        for whole in Self.responses {
            for _ in 0..<2000 {
                var mutated = whole
                for _ in 0...Int.random(in: 0..<4, using: &random) {
                    mutated[Int.random(in: mutated.indices, using: &random)] =
                        .random(in: 0...255, using: &random)
                }
                _ = response(mutated)
            }
        }
        for length in 0..<2000 {
            let noise = (0..<length % 97).map { _ in UInt8.random(in: 0...255, using: &random) }
            _ = request(noise)
            _ = response(noise)
        }
        #expect(request(whole) == .success(Self.fullRequest))
    }

    /// Each case is a 64 KiB head that would expand to megabytes.
    @Test("line 60: floods of fields, known and unknown") func floods() {
        let size = 64 * 1024
        func flood(_ unit: [UInt8]) -> [UInt8] {
            Array(repeatElement(unit, count: size / unit.count).joined())
        }
        let expectations = { (unit: [UInt8]) in
            Self.field(5, Self.field(2, flood(unit)))
        }
        let cases: [(String, [UInt8])] = [
            ("unknown varints", flood([0x78, 0])),
            ("unknown empty strings", flood([0x7a, 0])),
            ("empty calls, merged", flood([0x2a, 0])),
            ("empty expectations in calls, merged", flood([0x2a, 2, 0x12, 0])),
            ("calls of different kinds", flood([0x2a, 0, 0x32, 0])),
            ("empty product ids", expectations([0x1a, 0])),
            ("product ids in merged calls", flood([0x2a, 4, 0x12, 2, 0x1a, 0])),
            ("ids", flood([0x08, 1])),
        ]
        for (name, bytes) in cases {
            #expect(request(bytes) == .failure(.tooLarge), "\(name)")
        }
        let roots = flood([0x3a, 2, 0x22, 0])
        #expect(response(roots) == .failure(.tooLarge))
    }

    /// Memory runs out at each point of decoding. The head is rejected, without other effects.
    @Test("line 60: memory exhaustion") func memoryExhaustion() {
        for bytes in Self.responses {
            guard case .success(let head) = response(bytes) else {
                Issue.record("a sample that does not decode")
                continue
            }
            var refused = 0
            for limit in stride(from: 0, to: 16 * 1024, by: 16) {
                let codec = MessageCodec(memoryFloor: limit, memoryPerByte: 0)
                do throws(MessageError) {
                    #expect(try codec.decodeResponse(bytes.span) == head)
                } catch {
                    #expect(error == .tooLarge)
                    refused += 1
                }
            }
            #expect(refused > 10)
        }
    }

    /// Requests from honest clients stay within the same bounds.
    @Test func longListsAreFine() {
        let products = (0..<3000).map { "com.example.app.item\($0)" }
        let head = RequestHead(
            id: 1,
            call: .verify(
                VerifyCall(kind: .transaction, expectations: .init(productIds: products))))
        #expect(request(Self.bytes(head)) == .success(head))
        let short = RequestHead(
            id: 1,
            call: .verify(
                VerifyCall(
                    kind: .transaction,
                    expectations: .init(productIds: .init(repeating: "a", count: 100)))))
        #expect(request(Self.bytes(short)) == .success(short))
    }

    @Test("line 60: wrong wire types") func wrongWireTypes() {
        let cases: [[UInt8]] = [
            [0x0a, 1, 0x41],  // id as text
            [0x0d, 1, 2, 3, 4],  // id as 32 bits
            [0x09, 1, 2, 3, 4, 5, 6, 7, 8],  // id as 64 bits
            [0x18, 1],  // traceparent as varint
            [0x28, 1],  // call as varint
            [0x2a, 2, 0x0a, 0],  // kind as text
        ]
        for bytes in cases { #expect(request(bytes) == .failure(.malformed), "\(bytes)") }
        #expect(request([0x08, 1]) == .success(RequestHead(id: 1, call: .unknown)))
    }

    @Test("line 60: nested groups, lengths of 2^31 and more") func invalidBytes() {
        let cases: [[UInt8]] = [
            [0x0b], [0x0b, 0x0c],  // a group
            .init(repeating: 0x7b, count: 60_000),  // groups in groups
            [0x08], .init(repeating: 0x80, count: 100),  // unterminated varints
            [0x08] + .init(repeating: 0xff, count: 11),
            [0x1a, 0xff, 0xff, 0xff, 0xff, 0x07],  // a length of 2^31 - 1
            [0x1a, 0x80, 0x80, 0x80, 0x80, 0x08],  // 2^31
            [0x1a, 0xff, 0xff, 0xff, 0xff, 0x0f],  // 2^32 - 1
            [0x1a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],  // 2^64 - 1
            [0x00, 0x00],  // field number 0
            [0x2a, 5, 0x12],  // a call longer than the head
        ]
        for bytes in cases {
            guard case .failure = request(bytes) else {
                Issue.record("\(bytes.prefix(12)) was taken")
                continue
            }
        }
    }

    @Test("line 60: unknown and negative enumerations") func enumerations() {
        // Kinds 10, 0, -1 and Int32.min are unknown.
        let kinds: [([UInt8], EvidenceKind?)] = [
            ([1], .transaction), ([7], .transactionReceipt), ([8], .serverAnswer),
            ([9], .notificationV1), ([127], nil), ([0], nil),
            (Self.varint(UInt64(bitPattern: -1)), nil),
            (Self.varint(UInt64(bitPattern: Int64(Int32.min))), nil),
        ]
        for (number, kind) in kinds {
            let head = RequestHead(id: 0, call: .verify(VerifyCall(kind: kind)))
            #expect(request(Self.field(5, [0x08] + number)) == .success(head), "\(number)")
        }
        // An unknown verdict ends the call, and is not VALID.
        for verdict in [Self.varint(16), Self.varint(UInt64(bitPattern: -1)), [0]] {
            let bytes = [0x08, 9] + Self.field(5, [0x08] + verdict)
            guard case .success(let head) = response(bytes) else {
                Issue.record("\(verdict)")
                continue
            }
            #expect(head.id == 9 && head.status == .unknown && head.result == .none)
        }
        #expect(try! response([0x10, 99]).get().status == .unknown)
    }

    @Test func text() {
        let cases: [([UInt8], Bool)] = [
            ([0x61], true), ([0xc3, 0xa9], true), ([0x61, 0], true), ([], true),
            ([0xc3], false), ([0xff], false), ([0xc0, 0x80], false),  // cut, invalid, overlong
            ([0xed, 0xa0, 0x80], false), ([0xf4, 0x90, 0x80, 0x80], false),  // surrogate, > 10FFFF
        ]
        for (content, accepted) in cases {
            let heads = [
                Self.field(3, content), Self.field(4, content),
                Self.field(5, Self.field(2, Self.field(1, content))),
                Self.field(5, Self.field(2, Self.field(3, content))),
            ]
            for head in heads {
                if accepted {
                    #expect(throws: Never.self) { try request(head).get() }
                } else {
                    #expect(request(head) == .failure(.invalidText))
                }
            }
        }
    }

    @Test func unknownFieldsAreIgnored() {
        let head = Self.fullRequest
        let unknown: [UInt8] = [0x78, 5] + Self.field(15, [1, 2, 3]) + [0x7d, 1, 2, 3, 4]
        #expect(request(Self.bytes(head) + unknown) == .success(head))
        // A call from a future version.
        #expect(request([0x08, 4, 0x4a, 0]) == .success(RequestHead(id: 4, call: .unknown)))
    }

    /// As the encoding says: no expectation is lost because a call comes in two parts.
    @Test("calls that are given more than once are merged, and the last of a oneof counts")
    func mergedCalls() {
        let expecting = { (bundle: String) in Self.field(2, Self.field(1, Array(bundle.utf8))) }
        let (kind, ping, health): ([UInt8], [UInt8], [UInt8]) = ([8, 1], [0x42, 0], [0x32, 0])
        func verify(_ content: [UInt8]) -> [UInt8] { Self.field(5, content) }
        func call(_ kind: EvidenceKind?, _ bundle: String? = nil) -> RequestHead.Call {
            var expectations = Expectations.none
            expectations.bundleId = bundle
            return .verify(VerifyCall(kind: kind, expectations: expectations))
        }
        let cases: [([UInt8], RequestHead.Call)] = [
            (verify(expecting("a")) + verify(kind), call(.transaction, "a")),
            (verify(kind) + verify(expecting("a")), call(.transaction, "a")),
            (verify(expecting("a")) + verify(kind + expecting("b")), call(.transaction, "b")),
            (verify(kind) + [0x10, 5] + verify([]), call(.transaction)),
            (verify(expecting("a")) + ping + verify(kind), call(.transaction)),
            (verify(kind) + ping, .ping), (ping + health, .health), (ping + ping, .ping),
            (ping + verify(kind), call(.transaction)),
        ]
        for (bytes, call) in cases {
            let head = request([0x08, 7] + bytes)
            #expect((try? head.get().call) == call, "\(bytes)")
            #expect((try? head.get().id) == 7)
        }
        let many = [UInt8](repeatElement(ping, count: 16).joined())
        #expect((try? request(many).get().call) == .ping)
        #expect(request(many + ping) == .failure(.tooLarge))
        // A call that is none beside one.
        #expect(request(ping + [0x40, 1]) == .failure(.malformed))
    }

    @Test func missingFields() {
        #expect(response(Self.field(5, [0x08, 1, 0x32, 0])) == .failure(.missingField))
        #expect(response(Self.field(5, [0x08, 1, 0x52, 0])) == .failure(.missingField))
        #expect(response(Self.field(5, [0x08, 1, 0x5a, 0])) == .failure(.missingField))
    }

    @Test func leadingId() {
        let cases: [([UInt8], UInt64)] = [
            ([], 0), ([0x08], 0), ([0x08, 5], 5), ([0x08, 0x80], 0), ([0x08, 0x80, 1], 128),
            ([0x10, 5], 0), ([0x08] + Self.varint(.max), .max),
            ([0x08] + .init(repeating: 0xff, count: 20), 0),
            ([0x08, 5, 0xff, 0xff], 5),
        ]
        for (bytes, id) in cases {
            #expect(MessageCodec.leadingId(of: bytes.span) == id, "\(bytes)")
        }
    }

    @Test func idOfVerify() {
        let big = Self.field(5, [UInt8](repeating: 0, count: 300))
        let cases: [([UInt8], UInt64?)] = [
            ([0x08, 5, 0x2a, 0], 5), ([0x08, 5, 0x2a, 2, 0x08, 1], 5),
            ([0x08, 5, 0x10, 0x80, 1, 0x1a, 1, 0x41, 0x22, 2, 0x61, 0x62, 0x2a, 0], 5),
            ([0x08, 0x80, 1] + big, 128),
            // No id, or the connection's id.
            ([0x2a, 0], nil), ([0x08, 0, 0x2a, 0], nil),
            // Another call, no call, two calls, a field after the call, an unknown field.
            ([0x08, 5, 0x32, 0], nil), ([0x08, 5], nil), ([], nil),
            ([0x08, 5, 0x32, 0, 0x2a, 0], nil), ([0x08, 5, 0x2a, 0, 0x32, 0], nil),
            ([0x08, 5, 0x2a, 0, 0x08, 6], nil), ([0x08, 5, 0x7a, 0, 0x2a, 0], nil),
            // Truncated, or longer than the head.
            ([0x08, 5, 0x2a], nil), ([0x08, 5, 0x2a, 2, 0x08], nil), ([0x08, 5, 0x22, 9], nil),
            ([0x08, 5, 0x22, 3, 0x2a, 0], nil),
            ([0x08, 5, 0x22] + Self.varint(.max) + [0x2a, 0], nil),
            ([0x08, 5, 0x2a] + Self.varint(.max), nil),
        ]
        for (bytes, id) in cases {
            #expect(MessageCodec.idOfVerify(bytes.span) == id, "\(bytes)")
        }
    }
}

/// The SplitMix generator of Steele, Lea and Flood: the same numbers in every run.
struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var z = state
        z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
        z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
        return z ^ (z >> 31)
    }
}

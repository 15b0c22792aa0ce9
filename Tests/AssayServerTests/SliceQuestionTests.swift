import AssayModels
import AssayWire
import TestSupport
import Testing

@testable import AssayServer

/// Requests of a slice that ask the same share what is asked.
@Suite("What the requests of a slice ask") struct SliceQuestionTests {
    @Test("each is judged by its own kind and expectations, whatever the one before asked")
    func judged() throws {
        let simulated = try SimulatedServer { $0.workers = 1 }
        let peer = simulated.connect()
        let token = try Minted.transaction.get()
        let other = Expectations(productIds: ["com.example.other"])
        let asked: [(kind: EvidenceKind, expecting: Expectations, verdict: Verdict)] = [
            (.transaction, .none, .valid), (.transaction, .none, .valid),
            (.transaction, other, .mismatch), (.transaction, other, .mismatch),
            (.transaction, .none, .valid), (.renewalInfo, .none, .wrongKind),
            (.transaction, other, .mismatch), (.renewalInfo, other, .wrongKind),
            (.transaction, .none, .valid),
        ]
        let frames = asked.enumerated().map { index, question in
            RawClient.verify(
                UInt64(index + 1), question.kind, token, timeout: 0, expecting: question.expecting)
        }
        peer.send(Array(frames.joined()))
        simulated.runUntilIdle()
        var verdicts: [UInt64: Verdict] = [:]
        let received = peer.receive(upTo: .max)
        let (decoder, codec) = (FrameDecoder(limits: .response), MessageCodec())
        var rest = received[...]
        while case .frame(let frame) = decoder.next(in: Array(rest).span) {
            let head = try codec.decodeResponse(Array(Array(rest)[frame.head]).span)
            if case .verification(let answer) = head.result { verdicts[head.id] = answer.verdict }
            rest = rest.dropFirst(frame.end)
        }
        #expect(asked.indices.map { verdicts[UInt64($0 + 1)] } == asked.map(\.verdict))
    }
}

import AssayIO
import AssayService
import AssayTelemetry
import AssayWire

/// Takes the answers of the service.
extension Connection: Caller {
    var hasClientLeft: Bool { session.traits.endsWithPeer && hasPeerEnded }
    var acceptsWhileDraining: Bool { session.traits.acceptsWhileDraining }

    func answer(
        to id: UInt64, bytes: Int?,
        _ appendResult: (inout [UInt8]) throws(AnswerFault) -> Void
    ) {
        session.answer(to: id, bytes: bytes, self, appendResult)
        proceed()
    }

    func refuse(_ refusal: ResponseHead?) {
        if let refusal { session.answer(refusal, self) }
        proceed()
    }

    func answerAtOnce(_ call: CallLabel, _ head: ResponseHead, of trace: RequestTrace?) {
        answerAtOnce(call, head, of: trace) { session.answer(head.naming(trace?.context), self) }
    }

    func answer(_ head: ResponseHead) { session.answer(head, self) }

    func pay(for work: Work) { inlet.pay(for: work) }

    func proceed() { context.turns.touch(self) }
}

/// Passes receipts to their verification as they arrive, within the quota of the turn.
extension Connection {
    /// Passes bytes of a receipt to its verification. Returns false if there is no memory for it.
    func feed(_ receipt: ArrivingReceipt, _ bytes: SlabBytes) -> Bool {
        let loop = context.server.loop
        let began = loop.nanoseconds
        let fits = receipt.receive(bytes)
        context.turns.didReadReceipt(bytes.count, nanoseconds: loop.nanoseconds - began)
        return fits
    }
}

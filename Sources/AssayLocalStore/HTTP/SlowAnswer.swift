import AssayHTTP
import AssayIO

/// An answer that a fault delays, slows or cuts. Used on its loop's thread.
enum SlowAnswer {
    static func send(
        _ answer: HTTPResponse, _ delivery: StoreResponse.Delivery, _ reply: HTTPReply,
        on loop: EventLoop
    ) {
        guard let timer = try? AssayIO.Timer(on: loop) else { return reply.close() }
        timer.start(afterMilliseconds: delivery.delay) {
            write(reply.bytes(of: answer), delivery, reply, timer)
        }
    }

    private static func write(
        _ bytes: [UInt8], _ delivery: StoreResponse.Delivery, _ reply: HTTPReply,
        _ timer: AssayIO.Timer
    ) {
        let part = bytes.prefix(delivery.cut ?? bytes.count)
        func end() {
            timer.close()
            if delivery.cut == nil { reply.end() } else { reply.close() }
        }
        guard delivery.dribble > 0 else {
            reply.write(Array(part))
            return end()
        }
        var rest = part
        timer.start(afterMilliseconds: 0, everyMilliseconds: delivery.dribble) {
            guard reply.isOpen, let byte = rest.popFirst() else { return end() }
            reply.write([byte])
        }
    }
}

import AssayHTTP
import AssayIO
import AssayModels
import AssayService
import AssayTelemetry
import AssayWire

/// Reads the heads of requests, with the limits, the quotas and the admission of frames.
extension HTTPSession {
    func takeHead(_ connection: Connection, _ unread: SlabBytes) -> Bool {
        // The preface begins a connection, and nothing else.
        if !responses.hasBegun {
            let preface = HTTP2Preface(unread.span)
            guard preface == .incomplete || isAgreed(preface, connection) else {
                // RFC 9113, section 3.4; RFC 7301, section 3.2.
                connection.telemetry.logFault("another protocol than TLS has agreed")
                connection.end(nil)
                return true
            }
            switch preface {
            case .complete:
                connection.speak(HTTP2Session(endpoint, at: connection.now))
                return true
            case .incomplete: return false
            case .none: break
            }
        }
        guard !connection.waitsForAnswer() else { return false }
        let head: HTTPHead
        do throws(HTTPFault) {
            guard let next = try reader.next(in: unread.span) else {
                if !connection.inlet.needs(0, of: .head, connection.limits) {
                    connection.end(.connectionMemoryExhausted)
                }
                return false
            }
            head = next
        } catch {
            refuse(error, connection)
            return true
        }
        let target = HTTPTarget(unread.span.extracting(head.path))
        if target?.isLong == true, connection.waitsForLongAnswer() { return false }
        let bytes = connection.inlet.take(head.end, .request(headBytes: head.end))
        begin(head, bytes, target, connection)
        return true
    }

    /// Whether the version of HTTP that the first bytes have is the one that ALPN has selected.
    private func isAgreed(_ preface: HTTP2Preface, _ connection: Connection) -> Bool {
        switch connection.inlet.agreedProtocol {
        case nil: true
        case .http1: preface == .none
        case .http2: preface == .complete
        }
    }

    /// Starts a request: decides what happens to its body, and answers what needs none.
    private func begin(
        _ head: HTTPHead, _ bytes: SlabBytes, _ target: HTTPTarget?, _ connection: Connection
    ) {
        let page = page(of: head, bytes.span, connection)
        var style = style(of: head, bytes.span, target, isHTTP2: false, from: page)
        // A client that waits for the interim response possibly never sends the body of a refused
        // request, and a long one is not worth reading.
        let endsIfRefused = head.expectsContinue || head.body.isAbove(ServerLimits.refusedBodyBytes)
        style.framing.closes = !head.keepsAlive || endsIfRefused
        let id = responses.begin(style)
        let current = HTTP1Exchange(
            id, head.body, closes: !head.keepsAlive, among: bodies,
            connection.inlet.makeCollectedBytes(), began: connection.requestBegan)
        self.current = current
        current.plan = decide(
            head, bytes.span, target, id, from: page,
            unread: connection.inlet.count, connection)
        if current.body.isEnded { return complete(current, connection) }
        if case .skip = current.plan {
            if endsIfRefused { connection.end(nil) }
            return
        }
        guard responses.isOpen(id) else { return }
        responses[id].framing.closes = current.closes
        if head.expectsContinue, responses.requestBody(of: id) {
            connection.answer { output in
                output += HTTP1Writer.interim
                return 0
            }
        }
    }
}

extension HTTPHead.Body {
    /// Whether the body is known to be larger.
    fileprivate func isAbove(_ limit: Int) -> Bool {
        if case .length(let length) = self { length > limit } else { false }
    }
}

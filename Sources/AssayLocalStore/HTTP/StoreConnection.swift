import Assay
import AssayHTTP
import AssayIO

/// One connection to the store: reads a request, waits for its answer, writes it, and goes on.
/// Used on its loop's thread.
final class StoreConnection {
    private let stream: AssayIO.Stream
    /// For the time without a request, and for answers that a fault slows.
    private let timer: AssayIO.Timer
    private let origins: HTTPOriginPolicy
    private let onRequest: (StoreRequest, StoreConnection) -> Void
    private let onClose: (StoreConnection) -> Void
    private var reader = HTTPHeadReader()
    private var front: Front?
    /// The answer is being prepared or written: the next request waits.
    private var isBusy = false
    private var hasEnded = false
    private var isClosed = false

    /// The request whose body arrives.
    private struct Front {
        /// Nil: it is answered without the store.
        var request: StoreRequest?
        var refusal: StoreAnswer?
        var body: HTTPBodyReader
        var closes: Bool
        var isHead: Bool
    }

    init(
        _ stream: AssayIO.Stream, _ timer: AssayIO.Timer, _ origins: HTTPOriginPolicy,
        onRequest: @escaping (StoreRequest, StoreConnection) -> Void,
        onClose: @escaping (StoreConnection) -> Void
    ) {
        self.stream = stream
        self.timer = timer
        self.origins = origins
        self.onRequest = onRequest
        self.onClose = onClose
    }

    func start() {
        stream.setHandler { [self] event in
            switch event {
            case .received: process()
            case .ended:
                hasEnded = true
                if !isBusy { stream.finish() }
            case .failed: close()
            case .closed: didClose()
            case .connected, .written: break
            }
        }
        waitForRequest()
        stream.resumeReading()
    }

    func close() {
        stream.close()
        didClose()
    }

    private func didClose() {
        guard !isClosed else { return }
        isClosed = true
        timer.close()
        onClose(self)
    }

    private func waitForRequest() {
        guard !isClosed else { return }
        timer.start(afterMilliseconds: StoreLimits.idleMilliseconds) { [self] in close() }
    }

    // MARK: Reading

    private func process() {
        while !isBusy, !isClosed, let unread = stream.received.unread {
            do throws(HTTPFault) {
                let goesOn = front == nil ? try takeHead(unread) : try takeBody(unread)
                guard goesOn else { break }
            } catch {
                refuse(error)
                return
            }
        }
        if isBusy { stream.pauseReading() }
    }

    private func refuse(_ fault: HTTPFault) {
        isBusy = true
        front = nil
        stream.write(
            StoreResponse.bytes(.problem(fault.status, fault.description), closes: true))
        finish()
    }

    private func takeHead(_ unread: SlabBytes) throws(HTTPFault) -> Bool {
        guard let head = try reader.next(in: unread.span) else { return false }
        let bytes = unread.span
        var refusal: StoreAnswer?
        let request = request(head, bytes, &refusal)
        var body = HTTPBodyReader(head.body)
        if body.announced > StoreLimits.bodyBytes {
            refusal = Self.tooLarge
            body = HTTPBodyReader(.length(0))
        }
        front = Front(
            request: request, refusal: refusal, body: body,
            closes: !head.keepsAlive || refusal != nil, isHead: head.method == .head)
        stream.received.skip(head.end)
        if head.expectsContinue, refusal == nil { stream.write(StoreResponse.interim) }
        if refusal != nil || body.isEnded { complete() }
        return true
    }

    private static let tooLarge = StoreAnswer.problem(
        413, "the body has more than \(StoreLimits.bodyBytes) bytes")

    private func request(
        _ head: HTTPHead, _ bytes: Span<UInt8>, _ refusal: inout StoreAnswer?
    ) -> StoreRequest? {
        let method: StoreMethod? =
            switch head.method {
            case .get, .head: .get
            case .post: .post
            case .put: .put
            case .delete: .delete
            case .options, .other: nil
            }
        let contentType = Self.text(.contentType, head, bytes)
        let authorization = Self.text(.authorization, head, bytes)
        var query: HTTPQuery?
        if let range = head.query { query = HTTPQuery(bytes.extracting(range)) }
        refusal = originRefusal(head, bytes)
        guard refusal == nil else { return nil }
        guard let method else {
            refusal = .problem(405, "the methods are GET, HEAD, POST, PUT and DELETE")
            return nil
        }
        guard head.query == nil || query != nil else {
            refusal = .problem(400, "the query can't be read")
            return nil
        }
        let type = contentType?.split(separator: ";").first.map(String.init) ?? ""
        return StoreRequest(
            method: method, path: bytes.extracting(head.path).httpText,
            query: query?.parameters ?? [], contentType: type.lowercased(),
            authorization: authorization.map { Array($0.utf8) },
            time: SystemClock.wallMilliseconds)
    }

    private func originRefusal(_ head: HTTPHead, _ bytes: Span<UInt8>) -> StoreAnswer? {
        let source = HTTPOriginPolicy.Source(
            host: Self.text(.host, head, bytes), origin: Self.text(.origin, head, bytes),
            fetchSite: Self.text(.fetchSite, head, bytes),
            isReading: head.method == .get || head.method == .head)
        return switch origins.refusal(of: source) {
        case nil: nil
        case .host:
            .problem(421, "use localhost or a numeric address of the store as the host")
        case .origin: .problem(403, "a page of another site made this request")
        }
    }

    private static func text(
        _ field: HTTPField, _ head: HTTPHead, _ bytes: Span<UInt8>
    ) -> String? {
        guard let range = head[field] else { return nil }
        return bytes.extracting(range).httpText
    }

    private func takeBody(_ unread: SlabBytes) throws(HTTPFault) -> Bool {
        let bytes = unread.span
        switch try front!.body.next(in: bytes) {
        case .needMore: return false
        case .framing(let count): stream.received.skip(count)
        case .data(let count):
            for index in 0..<count { front!.request?.body.append(bytes[index]) }
            front!.body.didTake(count)
            stream.received.skip(count)
            if front!.request?.body.count ?? 0 > StoreLimits.bodyBytes {
                front!.refusal = Self.tooLarge
                front!.closes = true
                complete()
                return true
            }
        case .end: break
        }
        if front!.body.isEnded { complete() }
        return true
    }

    private func complete() {
        guard let front else { return }
        isBusy = true
        timer.stop()
        if let refusal = front.refusal { return answer(refusal) }
        if let request = front.request { onRequest(request, self) }
    }

    // MARK: Answering

    /// Writes the answer to the request that was passed on.
    func answer(_ answer: StoreAnswer) {
        guard !isClosed, let front = front.take() else { return }
        let bytes = StoreResponse.bytes(answer, closes: front.closes, isHead: front.isHead)
        let delivery = answer.delivery
        guard delivery.delay > 0 else { return write(bytes, delivery, front.closes) }
        timer.start(afterMilliseconds: delivery.delay) { [self] in
            write(bytes, delivery, front.closes)
        }
    }

    private func write(_ bytes: [UInt8], _ delivery: StoreAnswer.Delivery, _ closes: Bool) {
        let count = min(delivery.cut ?? bytes.count, bytes.count)
        let isCut = delivery.cut != nil
        guard delivery.dribble > 0 else {
            stream.write(Array(bytes[..<count]))
            return didAnswer(closes, isCut)
        }
        var next = 0
        timer.start(afterMilliseconds: 0, everyMilliseconds: delivery.dribble) { [self] in
            guard next < count else {
                timer.stop()
                return didAnswer(closes, isCut)
            }
            stream.write([bytes[next]])
            next += 1
        }
    }

    private func didAnswer(_ closes: Bool, _ isCut: Bool) {
        guard !isClosed else { return }
        if isCut { return close() }
        if closes || hasEnded { return finish() }
        isBusy = false
        waitForRequest()
        process()
        if !isBusy { stream.resumeReading() }
    }

    private func finish() {
        timer.start(afterMilliseconds: StoreLimits.idleMilliseconds) { [self] in close() }
        stream.finish()
    }
}

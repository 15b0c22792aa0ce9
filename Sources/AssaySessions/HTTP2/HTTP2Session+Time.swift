import AssayHTTP
import AssayIO
import AssayService
import AssayTelemetry
import AssayWire

/// Times of streams: each is a request, and has the limits of one.
extension HTTP2Session {
    func sweep(_ connection: Connection) {
        let now = connection.now
        engine.didPass(milliseconds: now - lastSweep)
        lastSweep = now
        if case .announced(let since) = end, now > since + Self.pongMilliseconds {
            finish(connection)
        }
        notifyWatchers(connection)
        probe(connection)
        if now >= nextCheck {
            nextCheck = now + UInt64(streams.count) * Self.checkMillisecondsPerStream
            checkStreams(connection)
        }
        endIfDone(connection)
    }

    /// A connection with many streams checks them less often, and so costs no more than others. A
    /// hundred are checked every 400 ms.
    private static let checkMillisecondsPerStream: UInt64 = 4

    private func checkStreams(_ connection: Connection) {
        let now = connection.now
        for stream in streams.values {
            stream.measureRate(at: now)
            if connection.inlet.reading.isHeld { stream.pace.didPause(stream.arrived, at: now) }
            refuseLate(stream, connection)
            let progress =
                engine.unwrittenBytes > 0
                ? engine.progress(of: stream.number) : (written: 0, unwritten: 0)
            guard
                stream.answerPace.isStalled(
                    written: progress.written, unwritten: progress.unwritten, at: now,
                    connection.limits)
            else { continue }
            connection.telemetry.logFault("the peer does not read its answers")
            engine.reset(stream.number, .cancel)
            touch(connection, answers: 0)
        }
    }

    /// Sends a PING to a silent client with open streams. A Watch does not end by itself, and a
    /// peer that is gone does not end it. Any byte that the client sends counts as an answer.
    private func probe(_ connection: Connection) {
        let now = connection.now
        guard connection.silentSince != nil, !streams.isEmpty else { return probed = nil }
        guard let probed else {
            guard connection.flow.age > connection.limits.idleMilliseconds else { return }
            self.probed = now
            engine.ping()
            return touch(connection, answers: 0)
        }
        if connection.flow.age < now - probed {
            self.probed = nil
        } else if now - probed > connection.limits.writeStallMilliseconds {
            connection.telemetry.logFault("the peer does not answer a PING")
            connection.endSilent()
        }
    }

    /// How long a draining connection waits for the client to confirm that it knows.
    private static let pongMilliseconds: UInt64 = 1_000

    private func refuseLate(_ stream: HTTP2Stream, _ connection: Connection) {
        let now = connection.now
        if let deadline = stream.messages?.deadline(since: stream.began), deadline <= now {
            let late = ResponseHead.deadlineExceeded(stream.id)
            return end(stream, by: HTTPProblem(late), connection)
        }
        // Between lines or messages nothing is late.
        let isStream = stream.lines != nil || stream.messages != nil
        guard !stream.isComplete, !stream.isAnswered || isStream && stream.holdsPart else { return }
        if let deadline = stream.deadline(connection.limits), deadline <= now {
            refuse(stream, .deadlineExceeded(stream.arrivingId), connection)
        } else if stream.pace.isSlow(stream.arrived, at: now, connection.limits) {
            connection.telemetry.logFault("a request arrived too slowly")
            refuse(stream, .slow(stream.arrivingId), connection)
        }
    }

    private func refuse(
        _ stream: HTTP2Stream, _ refusal: ResponseHead, _ connection: Connection
    ) {
        if stream.messages != nil, stream.receipt == nil {
            return end(stream, by: HTTPProblem(refusal), connection)
        }
        refuseArriving(stream, refusal, connection)
    }

    /// The slowest stream that holds memory.
    func slowest(_ connection: Connection) -> SlowRequest? {
        var found: (stream: HTTP2Stream, rate: Int)?
        for stream in streams.values where !stream.isComplete {
            guard let slow = stream.slowRate, slow < found?.rate ?? .max else { continue }
            found = (stream, slow)
        }
        guard let (stream, rate) = found else { return nil }
        return SlowRequest(rate: rate) { [self] in
            refuse(stream, .memoryExhausted(stream.arrivingId), connection)
            connection.updateBudget()
        }
    }
}

import Glibc
import Synchronization
import TestSupport
import Testing

@testable import AssayIO

/// Runs an event loop for the duration of a test.
func withLoop(_ body: (EventLoop) throws -> Void) throws {
    let loop = try EventLoop(name: "test")
    try loop.start()
    defer {
        loop.stop()
        loop.join()
    }
    try body(loop)
}

/// A path that no other test uses.
func temporaryPath(_ name: String) -> String {
    "/tmp/assay-test-\(getpid())-\(UInt32.random(in: 0 ... .max))-\(name)"
}

@Suite struct EndpointTests {
    @Test(arguments: [
        ("tcp://127.0.0.1:7443", Endpoint.tcp(host: "127.0.0.1", port: 7443)),
        ("systemd:a", .inherited(name: "a")), ("systemd+tls:a", .inherited(name: "a", tls: true)),
        ("tcp://[::1]:0", .tcp(host: "::1", port: 0)),
        ("tcp://localhost:65535", .tcp(host: "localhost", port: 65535)),
        ("unix:/run/a.sock", .unix(path: "/run/a.sock")),
        ("unix:a", .unix(path: "a")),
    ])
    func reads(text: String, endpoint: Endpoint) throws {
        #expect(try Endpoint(text) == endpoint)
        #expect(endpoint.description == text)
    }

    @Test(arguments: [
        ("", EndpointError.unknownScheme("")), ("127.0.0.1:1", .unknownScheme("127.0.0.1:1")),
        ("ftp://a:1", .unknownScheme("ftp://a:1")), ("tcp://a", .noPort("tcp://a")),
        ("tcp://a:", .noPort("tcp://a:")), ("tcp://a:65536", .noPort("tcp://a:65536")),
        ("tcp://a:+1", .noPort("tcp://a:+1")), ("tcp://a:1/", .noPort("tcp://a:1/")),
        ("tcp://:1", .noHost("tcp://:1")), ("tcp://[]:1", .noHost("tcp://[]:1")),
        ("tcp://a/b:1", .noHost("tcp://a/b:1")), ("tcp://::1:1", .bareIPv6("tcp://::1:1")),
        ("unix:", .noPath("unix:")), ("unix:a\0b", .noPath("unix:a\0b")),
    ])
    func refuses(text: String, error: EndpointError) {
        #expect(throws: error) { try Endpoint(text) }
    }

    @Test func pathsHaveTheSystemsLength() throws {
        let longest = "unix:" + String(repeating: "a", count: 107)
        #expect(try Endpoint(longest).description == longest)
        #expect(throws: EndpointError.pathTooLong(longest + "a")) { try Endpoint(longest + "a") }
    }
}

@Suite(.ownThread, .timeLimit(.minutes(1))) struct LoopTests {
    @Test func runsJobsOfManyThreadsInOrder() throws {
        try withLoop { loop in
            let seen = Locked([[Int]](repeating: [], count: 4))
            let pool = try WorkerPool(count: 4, name: "post")
            for thread in 0..<4 {
                pool.submit {
                    for number in 0..<5_000 {
                        loop.post { seen.withLock { $0[thread].append(number) } }
                    }
                }
            }
            pool.stop()
            try loop.call { () throws(LoopError) in }
            seen.withLock { seen in
                for thread in 0..<4 { #expect(seen[thread] == Array(0..<5_000)) }
            }
        }
    }

    /// A resting loop still runs its jobs, in order, and reacts to its stop.
    @Test func runsJobsWhileReadsPause() throws {
        try withLoop { loop in
            let seen = Locked<[Int]>([])
            let rested = try loop.call { () throws(LoopError) -> UInt64 in
                let timer = try Timer(on: loop)
                timer.start(afterMilliseconds: 1, everyMilliseconds: 1) {
                    seen.withLock { $0.append(-1) }
                }
                defer { timer.close() }
                loop.post { seen.withLock { $0.append(1) } }
                loop.post { loop.post { seen.withLock { $0.append(3) } } }
                let start = SystemClock.monotonicNanoseconds
                loop.runJobs(forMilliseconds: 60) {
                    if seen.withLock({ $0 }) == [1] { seen.withLock { $0.append(2) } }
                }
                return SystemClock.monotonicNanoseconds - start
            }
            // A poll's whole milliseconds are ten each for a clock that runs ten times as fast.
            #expect(rested >= 40_000_000)
            #expect(seen.withLock { $0 } == [1, 2, 3])

            let ended = try loop.call { () throws(LoopError) -> UInt64 in
                loop.post { loop.stop() }
                let start = SystemClock.monotonicNanoseconds
                loop.runJobs(forMilliseconds: 3_000_000) {}
                return SystemClock.monotonicNanoseconds - start
            }
            #expect(ended < 2_000_000_000_000)
        }
    }

    @Test func oneWakeupServesManyJobs() throws {
        try withLoop { loop in
            let turns = Atomic(0)
            let jobs = Atomic(0)
            try loop.call { () throws(LoopError) in
                _ = try TurnEnd(on: loop) { turns.add(1, ordering: .relaxed) }
            }
            for _ in 0..<100_000 { loop.post { jobs.add(1, ordering: .relaxed) } }
            try loop.call { () throws(LoopError) in }
            let jobCount = jobs.load(ordering: .relaxed)
            #expect(jobCount == 100_000)
            let turnCount = turns.load(ordering: .relaxed)
            print("100000 posted jobs took \(turnCount) turns of the loop")
            #expect(turnCount < 100_000)
        }
    }

    @Test func aStoppedLoopRejectsJobs() throws {
        let loop = try EventLoop(name: "test")
        try loop.start()
        let ran = Atomic(false)
        #expect(loop.post { ran.store(true, ordering: .relaxed) })
        loop.stop()
        loop.join()
        let hasRun = ran.load(ordering: .relaxed)
        #expect(hasRun)
        #expect(!loop.post {})
        #expect(throws: LoopError.cancelled) { try loop.call { () throws(LoopError) in } }
    }

    @Test func aLoopThatNeverStartedIsReleased() throws {
        let loop = try EventLoop(name: "test")
        loop.post { Issue.record("a loop without a thread ran a job") }
    }

    @Test func aPoolRunsAllJobsBeforeItEnds() throws {
        let pool = try WorkerPool(count: 3, name: "pool")
        let jobs = Atomic(0)
        for _ in 0..<10_000 { pool.submit { jobs.add(1, ordering: .relaxed) } }
        pool.stop()
        let count = jobs.load(ordering: .relaxed)
        #expect(count == 10_000)
    }

    /// On a busy machine a thread of the idle class would hardly ever run.
    @Test("line 82: low-priority threads have a higher nice value, and still run")
    func lowPriorityThreadsStillRun() throws {
        func scheduling(hasLowPriority: Bool) throws -> (policy: Int32, niceness: Int32) {
            let seen = Locked<(Int32, Int32)>((-1, -1))
            let pool = try WorkerPool(count: 1, name: "low", hasLowPriority: hasLowPriority)
            pool.submit {
                // nice(0) adds nothing and returns the thread's niceness.
                let own = (sched_getscheduler(0), nice(0))
                seen.withLock { $0 = own }
            }
            pool.stop()
            return seen.withLock { $0 }
        }
        let usual = try scheduling(hasLowPriority: false)
        let nicer = try scheduling(hasLowPriority: true)
        #expect(usual.policy == SCHED_OTHER && nicer.policy == SCHED_OTHER)
        // The highest niceness is 19.
        #expect(nicer.niceness == min(usual.niceness + 5, 19))
    }

    @Test func timersFireOnceAndAgain() throws {
        try withLoop { loop in
            let fired = Atomic(0)
            let done = Latch()
            try loop.call { () throws(LoopError) in
                let timer = try Timer(on: loop)
                timer.start(afterMilliseconds: 1, everyMilliseconds: 1) { [unowned timer] in
                    if fired.add(1, ordering: .relaxed).newValue == 3 {
                        timer.close()
                        done.open()
                    }
                }
            }
            done.wait()
            let count = fired.load(ordering: .relaxed)
            #expect(count == 3)
        }
    }

    @Test func signalsArriveOnTheLoop() throws {
        try withLoop { loop in
            let done = Latch()
            try loop.call { () throws(LoopError) in
                _ = try SignalWatcher(.hangup, on: loop) {
                    #expect(loop.isCurrent)
                    done.open()
                }
            }
            kill(getpid(), SIGHUP)
            done.wait()
        }
    }
}

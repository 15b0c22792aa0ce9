import Assay
import AssayMint
import AssayModels
import Testing

/// Lines 30 to 32 and 45 of the catalogue of hostile input: dates, and clocks that jump.
@Suite struct HostileTimeTests {
    private func expect(
        _ json: String?, _ verdict: Verdict, at now: Timestamp = Fixture.now,
        location: SourceLocation = #_sourceLocation
    ) {
        let token = Fixture.token(Fixture.payload(changing: ["signedDate": json]))
        Fixture.expect(
            Fixture.verify(token, at: now), verdict, comment: json ?? "absent", at: location)
    }

    @Test("line 30: signedDate in the future, out of range, missing or of another type")
    func signedDate() {
        let now = Fixture.now.milliseconds
        let limit = now + 5 * 60 * 1000
        expect("\(now)", .valid)
        expect("\(limit)", .valid)
        expect("\(limit).999", .valid)
        expect("\(limit + 1)", .invalidDate)
        expect("\(limit + 1000)", .invalidDate)
        for json in [
            "0", "-0", "-1", "-1767225600000", "0.5", "1e18", "1e19", "-1e19", "1e999", "-1e999",
            "9223372036854775807", "-9223372036854775808", "9223372036854775808",
            "\"\(now)\"", "\"2026-01-01\"", "true", "false", "[]", "{}", "[\(now)]",
        ] { expect(json, .invalidDate) }
        // The date is valid but earlier than the certificate.
        expect("1", .certificateExpired)
        expect("\(now / 1000)", .certificateExpired)
        // Evidence without a date is checked as if signed now.
        expect(nil, .valid)
        expect("null", .valid)
        let beyond = Fixture.time(800 * 86_400)
        expect(nil, .certificateExpired, at: beyond)
        expect("\(now)", .valid, at: beyond)
    }

    @Test("line 30: the date of an app transaction")
    func receiptCreationDate() {
        let now = Fixture.now.milliseconds
        let cases: [(String?, String?, Verdict)] = [
            (nil, "\(now)", .valid), (nil, nil, .valid), ("null", "\(now)", .valid),
            (nil, "\(now + 300_001)", .invalidDate), (nil, "\(now + 300_000)", .valid),
            (nil, "\"\(now)\"", .invalidDate), (nil, "0", .invalidDate),
            ("\(now)", "\(now + 300_001)", .valid), ("\(now + 300_001)", "\(now)", .invalidDate),
        ]
        for (signed, created, verdict) in cases {
            let payload = Fixture.payload(
                .appTransaction, changing: ["signedDate": signed, "receiptCreationDate": created])
            Fixture.expect(
                Fixture.verify(Fixture.token(payload), as: .appTransaction), verdict,
                comment: "\(signed ?? "-") \(created ?? "-")")
        }
    }

    @Test("line 31: a token outlives its leaf certificate, and the answer says so")
    func expiredSince() {
        let token = Fixture.token()
        let last = DevelopmentCADates.leafNotAfter
        for (seconds, expired) in [(-1, false), (0, false), (1, true), (86_400 * 3650, true)] {
            let now = Timestamp(milliseconds: (last + Int64(seconds)) * 1000)
            let answer = Fixture.verify(token, at: now)
            Fixture.expect(answer, .valid)
            #expect(answer.certificate?.expired == expired, "\(seconds)")
            #expect(answer.certificate?.notAfter.seconds == last)
        }
    }

    @Test(
        "line 32: back-dated evidence of a stolen key: denied certificate or key, age limit")
    func stolenKey() throws {
        let years = Fixture.time(3 * 365 * 86_400)
        let token = Fixture.token(Fixture.payload(signed: Fixture.time(-3600)))
        Fixture.expect(Fixture.verify(token, at: years), .valid)
        let limit = Expectations(notOlderThan: Fixture.time(-3600))
        Fixture.expect(Fixture.verify(token, expecting: limit, at: years), .valid)
        let later = Expectations(notOlderThan: Fixture.time(-3599))
        Fixture.expect(Fixture.verify(token, expecting: later, at: years), .mismatch)

        let trust = Fixture.trust(Fixture.ca.rootCertificate)
        func digests(_ der: [UInt8]) throws -> [Fingerprint] {
            let key = try Certificate(der: der).publicKey.range
            let info = Array(der[key])
            return [
                Fingerprint(SHA256.digest(der.span)), Fingerprint(SHA256.digest(info.span)),
            ]
        }
        let (leaf, intermediate) = (Fixture.ca.leafCertificate, Fixture.ca.intermediateCertificate)
        let root = Fixture.ca.rootCertificate
        for digest in try digests(leaf) + digests(intermediate) + digests(root) {
            let denying = Verifier(trust: trust.denying([digest]))
            Fixture.expect(Fixture.verify(token, by: denying), .certificateRevoked)
            // The second verification can use a cache.
            Fixture.expect(Fixture.verify(token, by: denying), .certificateRevoked)
        }
        for digest in try digests(Fixture.foreignCA.leafCertificate) {
            let denying = Verifier(trust: trust.denying([digest]))
            Fixture.expect(Fixture.verify(token, by: denying), .valid)
        }
        // Another certificate with the same key: only the key's digest denies it.
        let issuer = try #require(Fixture.ca.intermediateKey)
        let renewed = try DevelopmentCA.makeLeaf(
            under: issuer, validity: Fixture.validity, key: Fixture.ca.leafKey
        ) { _ in }
        var chain = Fixture.ca.chain
        chain.certificates[0] = renewed.der
        let again = Fixture.token(Fixture.payload(), chain)
        let denials = try digests(leaf)
        for (digest, verdict) in zip(denials, [Verdict.valid, .certificateRevoked]) {
            let denying = Verifier(trust: trust.denying([digest]))
            Fixture.expect(Fixture.verify(again, by: denying), verdict)
        }
    }

    @Test("line 45: clock jumps affect only evidence from the future")
    func jumpingClock() {
        let verifier = Verifier(trust: Fixture.trust(Fixture.ca.rootCertificate))
        let good = Fixture.token()
        let bad = Fixture.token(Fixture.payload(), Fixture.foreignCA.chain)
        let expired = Fixture.token(Fixture.payload(signed: Fixture.time(-7 * 86_400)))
        let hour: Int64 = 3600
        for seconds in [0, hour, -hour, 0, 10 * hour, -hour, 59, 61, -1, 0, -300, -301, 0] {
            let now = Fixture.time(seconds)
            let future = seconds < -300
            Fixture.expect(
                Fixture.verify(good, at: now, by: verifier), future ? .invalidDate : .valid)
            Fixture.expect(
                Fixture.verify(bad, at: now, by: verifier),
                future ? .invalidDate : .untrustedChain)
            Fixture.expect(Fixture.verify(expired, at: now, by: verifier), .certificateExpired)
        }
        // The limits of 64-bit times.
        for milliseconds in [Int64.min, -1, 0, .max] {
            let now = Timestamp(milliseconds: milliseconds)
            let verdict: Verdict = milliseconds == .max ? .valid : .invalidDate
            Fixture.expect(Fixture.verify(good, at: now, by: verifier), verdict)
            let undated = Fixture.token(Fixture.payload(changing: ["signedDate": nil]))
            Fixture.expect(Fixture.verify(undated, at: now, by: verifier), .certificateExpired)
            Fixture.expect(
                Fixture.verify(bad, at: now, by: verifier),
                milliseconds == .max ? .untrustedChain : .invalidDate)
        }
    }
}

/// Dates of the minted leaf.
private enum DevelopmentCADates {
    static let leafNotAfter = Fixture.made {
        try Certificate(der: Fixture.ca.leafCertificate).notAfter
    }
}

import Assay
import AssayMint
import AssayModels

/// Minted answers of the App Store Server API.
enum ServerAnswers {
    static func token(_ kind: EvidenceKind = .transaction, _ index: Int = 1) -> [UInt8] {
        Fixture.token(Fixture.payload(kind, index: index))
    }

    static func tokens(_ count: Int) -> [[UInt8]] { (0..<count).map { token(.transaction, $0) } }

    static func notification(_ index: Int = 1) -> [UInt8] {
        Fixture.made {
            try Minter(Fixture.ca.chain).mint(
                .notification, index: index, bundleId: Fixture.bundle, appAppleId: Fixture.app,
                environment: .production, signedDate: Fixture.now)
        }
    }

    /// A page of a history. `members` are further members, as JSON text.
    static func history(_ tokens: [[UInt8]], _ members: String = "") -> [UInt8] {
        let list = tokens.map(Fixture.quoted).joined(separator: ",")
        let before = members.isEmpty ? "" : members + ","
        return Array("{\(before)\"signedTransactions\":[\(list)]}".utf8)
    }

    /// The statuses of one group with one subscription for each entry.
    static func statuses(
        _ entries: [(status: String, transaction: [UInt8], renewalInfo: [UInt8]?)],
        _ members: String = ""
    ) -> [UInt8] {
        let list = entries.map { entry in
            let renewal = entry.renewalInfo.map { ",\"signedRenewalInfo\":" + Fixture.quoted($0) }
            return "{\"status\":\(entry.status),\"signedTransactionInfo\":"
                + Fixture.quoted(entry.transaction) + (renewal ?? "") + "}"
        }
        let before = members.isEmpty ? "" : members + ","
        return Array(
            """
            {\(before)"data":[{"subscriptionGroupIdentifier":"2100","lastTransactions":\
            [\(list.joined(separator: ","))]}]}
            """.utf8)
    }

    /// The answers about one purchase.
    static func single(_ members: [(name: String, token: [UInt8])]) -> [UInt8] {
        let texts = members.map { "\"\($0.name)\":" + Fixture.quoted($0.token) }
        return Array("{\(texts.joined(separator: ","))}".utf8)
    }

    static func notifications(_ tokens: [[UInt8]]) -> [UInt8] {
        let list = tokens.map { token in
            """
            {"sendAttempts":[{"attemptDate":1698148900000,"sendAttemptResult":"SUCCESS"}],\
            "signedPayload":\(Fixture.quoted(token))}
            """
        }
        return Array(
            """
            {"paginationToken":"next","hasMore":false,"notificationHistory":\
            [\(list.joined(separator: ","))]}
            """.utf8)
    }

    /// One answer of each shape, with the number of its signed members.
    static let shapes: [(name: String, answer: [UInt8], signed: Int)] = [
        (
            "history",
            history([token(), token(), token()], "\"revision\":\"r\",\"hasMore\":false"), 3
        ),
        (
            "statuses",
            statuses([("1", token(), token(.renewalInfo)), ("1", token(), nil)]), 3
        ),
        ("transaction", single([("signedTransactionInfo", token())]), 1),
        (
            "advanced commerce",
            single([
                ("signedTransactionInfo", token()), ("signedRenewalInfo", token(.renewalInfo)),
            ]), 2
        ),
        ("app transaction", single([("signedAppTransactionInfo", token(.appTransaction))]), 1),
        ("notifications", notifications([notification(1), notification(2)]), 2),
        ("test notification", single([("signedPayload", notification())]), 1),
    ]

    static func verify(
        _ answer: [UInt8], policy: Policy = Fixture.policy,
        expecting expectations: Expectations = .none, by verifier: Verifier = Fixture.verifier
    ) -> Verification {
        Fixture.verify(
            answer, as: .serverAnswer, policy: policy, expecting: expectations, by: verifier)
    }
}

extension Verification {
    var serverAnswer: ServerAnswer? {
        if case .serverAnswer(let answer) = evidence { answer } else { nil }
    }
}

extension ServerAnswer {
    var signedCount: Int {
        transactions.count + renewalInfos.count + (appTransaction == nil ? 0 : 1)
            + notifications.count
    }

    var codes: [EvidenceWarning.Code] { warnings.map(\.code) }
}

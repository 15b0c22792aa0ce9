import AssayBytes
import AssayMint
import AssayModels

/// A claim of a seat in a subscription.
struct SeatClaim: Sendable {
    let id: String
    /// The original transaction id of the subscription.
    let subscription: String
    /// The identifier of the request, which a repetition has as well.
    let request: String
    /// The customer in the seat, if known.
    var appTransactionId: String?
}

/// Groups and seats, which Apple has in the sandbox alone. Known from the documentation, which
/// does not name every member of the answers.
extension LocalStore {
    /// Members of a page without `limit`.
    private static var pageSize: Int { 20 }

    // MARK: Groups

    /// A group has the original transaction id of its subscription as its id. Its members are the
    /// buyer and the customers in the seats.
    func groups(
        _ call: EndpointCall, _ request: StoreRequest, _ bundle: String
    ) throws(AppleError) -> StoreResponse {
        guard call.environment == .sandbox else { return .bare(404) }
        if call.variant == "members" { return try members(call, request, bundle) }
        let index = try customer(call.parameters[0], call.environment)
        let life = customers[index].life
        var ids = life.subscriptions.filter { seats(of: $0, call.environment, bundle) != nil }
            .map(\.originalTransactionId)
        for claim in seatClaims
        where claim.appTransactionId == life.identity.appTransactionId
            && !ids.contains(claim.subscription)
        {
            ids.append(claim.subscription)
        }
        return .json { answer in
            answer.array("groups") { list in
                for id in ids { list.object { $0.member("groupId", id) } }
            }
        }
    }

    private func members(
        _ call: EndpointCall, _ request: StoreRequest, _ bundle: String
    ) throws(AppleError) -> StoreResponse {
        let subscription = try subscription(call.parameters[0], call.environment, bundle)
        let owner = customers[subscription.customer].life.identity.appTransactionId
        let all =
            [owner]
            + seatClaims.filter { $0.subscription == call.parameters[0] }
            .compactMap(\.appTransactionId)
        var (start, count) = (0, Self.pageSize)
        for (name, value) in request.query {
            switch name {
            case "limit":
                guard let limit = Int(value), limit > 0 else { throw .generalBadRequest }
                count = min(limit, Self.pageSize)
            case "paginationToken":
                guard let token = Int(value), all.indices.contains(token) else {
                    throw .invalidPaginationToken
                }
                start = token
            default: break
            }
        }
        let page = all[start...].prefix(count)
        return .json { answer in
            answer.array("members") { list in
                for id in page { list.object { $0.member("appTransactionId", id) } }
            }
            answer.member("hasMore", page.endIndex < all.count)
            if page.endIndex < all.count {
                answer.member("paginationToken", String(page.endIndex))
            }
        }
    }

    // MARK: Seats

    mutating func seats(
        _ call: EndpointCall, _ request: StoreRequest, _ bundle: String
    ) throws(AppleError) -> StoreResponse {
        guard call.environment == .sandbox else { return .bare(404) }
        let id = call.parameters[0]
        let found = try subscription(id, call.environment, bundle).subscription
        guard let total = seats(of: found, call.environment, bundle) else {
            throw .notDeveloperManaged
        }
        let claims = seatClaims.filter { $0.subscription == id }
        let available = max(total - Int64(claims.count), 0)
        switch call.variant {
        case "info":
            return .json { answer in
                answer.member("totalSeatCount", total)
                answer.member("availableSeatCount", available)
                answer.array("assignedSeatClaimIds") { list in
                    for claim in claims { list.value(claim.id) }
                }
            }
        case "claim": return try claim(id, request, claims, available: available)
        case "unclaim":
            seatClaims.remove(at: try index(of: call.parameters[1], id))
            return .bare(200)
        default:
            let index = try index(of: call.parameters[1], id)
            guard let member = try appTransactionId(request.object()) else {
                throw .generalBadRequest
            }
            seatClaims[index].appTransactionId = member
            return .bare(200)
        }
    }

    private mutating func claim(
        _ id: String, _ request: StoreRequest, _ claims: [SeatClaim], available: Int64
    ) throws(AppleError) -> StoreResponse {
        let body = try request.object()
        guard let name = body["requestIdentifier"]?.string, UUIDText.isValid(name) else {
            throw .invalidRequestIdentifier
        }
        let member = try appTransactionId(body)
        if let known = claims.first(where: { $0.request == name }) {
            return .json { $0.member("seatClaimId", known.id) }
        }
        guard available > 0, seatClaims.count < LocalStoreLimits.records else {
            throw .noAvailableSeats
        }
        // The same in a replay.
        seatClaimCount += 1
        let digits = String(seatClaimCount, radix: 16)
        let claim =
            "5ea7c1a1-0000-4000-8000-" + String(repeating: "0", count: 12 - digits.count) + digits
        seatClaims.append(
            SeatClaim(id: claim, subscription: id, request: name, appTransactionId: member))
        return .json { $0.member("seatClaimId", claim) }
    }

    /// The app transaction id in a body; nil without one.
    private func appTransactionId(_ body: JSONObject) throws(AppleError) -> String? {
        guard let id = body["appTransactionId"]?.string else { return nil }
        guard
            customers.contains(where: { !$0.isRemoved && $0.life.identity.appTransactionId == id })
        else {
            throw .transactionIdNotFound
        }
        return id
    }

    private func index(of claim: String, _ id: String) throws(AppleError) -> Int {
        let index = seatClaims.firstIndex {
            $0.subscription == id && $0.id == claim.lowercased()
        }
        guard let index else { throw .seatClaimNotFound }
        return index
    }

    private func subscription(
        _ id: String, _ environment: APIEnvironment, _ bundle: String
    ) throws(AppleError) -> (customer: Int, subscription: StoredTransaction) {
        let index = try customer(
            id, environment, invalid: .invalidOriginalTransactionId,
            missing: .originalTransactionIdNotFound)
        let found = customers[index].life.subscriptions.first {
            $0.originalTransactionId == id && $0.bundleId == bundle
        }
        guard let found else { throw .originalTransactionIdNotFound }
        return (index, found)
    }

    /// The seats that a subscription has now; nil for one without invitations of the developer.
    private func seats(
        of subscription: StoredTransaction, _ environment: APIEnvironment, _ bundle: String
    ) -> Int64? {
        guard subscription.seats != nil, subscription.bundleId == bundle,
            let owner = customers.first(where: {
                $0.has(subscription.originalTransactionId, in: environment)
            })
        else { return nil }
        let moment = now.milliseconds
        return owner.transactions(environment)
            .filter { transaction in
                transaction.originalTransactionId == subscription.originalTransactionId
                    && transaction.purchaseDate <= moment
                    && moment < transaction.expiresDate ?? .max
                    && moment < transaction.revocationDate ?? .max
            }
            .reduce(0) { $0 + ($1.seats ?? 0) }
    }
}

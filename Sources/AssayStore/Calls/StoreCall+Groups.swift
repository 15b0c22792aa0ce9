import AssayBytes

/// Groups and seats of multiseat purchases (API 1.22 and 1.23). Apple has these endpoints in the
/// sandbox alone so far, so that the automatic choice asks only there. Known from the
/// documentation, and never seen in operation by this project. Their answers have no signed member.
extension StoreCall {
    private static func group(_ name: String, _ method: String, _ path: String) -> StoreCall {
        var call = StoreCall(name, method, "/groups/v1/" + path)
        call.automaticEnvironment = .sandbox
        // Apple documents no rate.
        call.callClass = .change
        return call
    }

    /// The groups that a customer belongs to (GET /groups/v1/currentGroups/{id}).
    public static func currentGroups(of id: String) throws(StoreError) -> StoreCall {
        let id = try segment(id, "transaction identifier")
        return group("current-groups", "GET", "currentGroups/" + id)
    }

    /// A page of a group's members (GET /groups/v1/group/{groupId}).
    ///
    /// The limit is the most members of the page; nil is Apple's default. The token is the
    /// `paginationToken` of the page before.
    public static func groupMembers(
        of id: String, limit: Int? = nil, after token: String? = nil
    ) throws(StoreError) -> StoreCall {
        var call = group("group-members", "GET", "group/" + (try segment(id, "group id")))
        if let limit {
            guard limit > 0 else { throw .invalidArgument("the limit is not above 0") }
            call.query.append(Parameter(name: "limit", value: String(limit)))
        }
        if let token {
            try checkFilled(token, "pagination token")
            call.query.append(Parameter(name: "paginationToken", value: token))
        }
        return call
    }

    /// The seats of a subscription (GET /groups/v1/transactions/{originalId}/seats).
    public static func seats(of originalId: String) throws(StoreError) -> StoreCall {
        group("seats", "GET", try seatPath(originalId))
    }

    /// Claims a seat (POST /groups/v1/transactions/{originalId}/seats). Apple answers a second
    /// request of the same identifier with the same claim.
    ///
    /// The request is a UUID, kept before the call is made. The app transaction identifier is that
    /// of the customer in the seat, if known.
    public static func claimSeat(
        of originalId: String, request: String, appTransactionId: String? = nil
    ) throws(StoreError) -> StoreCall {
        try SigningText.checkUUID(request, "the request id")
        try checkFilled(appTransactionId, "app transaction identifier")
        var call = group("claim-seat", "POST", try seatPath(originalId))
        var writer = JSONWriter()
        writer.object { object in
            object.member("requestIdentifier", request)
            object.member("appTransactionId", appTransactionId)
        }
        call.body = writer.text
        return call
    }

    /// Gives a seat up (DELETE /groups/v1/transactions/{originalId}/seats/{claim}).
    public static func unclaimSeat(
        _ claim: String, of originalId: String
    ) throws(StoreError) -> StoreCall {
        group("unclaim-seat", "DELETE", try claimPath(claim, originalId))
    }

    /// Names the customer in a seat
    /// (POST /groups/v1/transactions/{originalId}/seats/{claim}/associate).
    public static func associateSeat(
        _ claim: String, of originalId: String, appTransactionId: String
    ) throws(StoreError) -> StoreCall {
        try checkFilled(appTransactionId, "app transaction identifier")
        var call = group("associate-seat", "POST", try claimPath(claim, originalId) + "/associate")
        var writer = JSONWriter()
        writer.object { $0.member("appTransactionId", appTransactionId) }
        call.body = writer.text
        return call
    }

    private static func seatPath(_ originalId: String) throws(StoreError) -> String {
        "transactions/" + (try segment(originalId, "original transaction identifier")) + "/seats"
    }

    private static func claimPath(
        _ claim: String, _ originalId: String
    ) throws(StoreError) -> String {
        try seatPath(originalId) + "/" + segment(claim, "seat claim id")
    }
}

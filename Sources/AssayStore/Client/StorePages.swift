/// The pages of one list, asked for one after the other as they are taken.
public struct StorePages: AsyncSequence, Sendable {
    public typealias Element = StoreAnswer
    public typealias Failure = StoreError

    let client: AppStoreClient
    let call: StoreCall
    let revision: String?
    let limit: Int
    let timeout: Duration

    public func makeAsyncIterator() -> Iterator {
        Iterator(
            client: client, call: call, deadline: client.deadline(after: timeout),
            environments: client.configuration.environment.environments(for: call),
            walk: PageWalk(limit: limit, from: revision), next: .page(revision))
    }

    /// Walks through the pages. The time of the call begins with it.
    public struct Iterator: AsyncIteratorProtocol {
        enum Next {
            case page(String?)
            /// The last page was returned; what to throw, if it promised more.
            case end(StoreError?)
        }

        let client: AppStoreClient
        let call: StoreCall
        let deadline: StoreDeadline
        /// Those to ask; after the first page, its own.
        var environments: [StoreEnvironment]
        var walk: PageWalk
        var next: Next

        /// Returns the next page, verified; nil after the last one. A page is returned also where
        /// the one after it can't be asked for: the error comes after it.
        public mutating func next(
            isolation actor: isolated (any Actor)? = #isolation
        ) async throws(StoreError) -> StoreAnswer? {
            switch next {
            case .end(let error):
                next = .end(nil)
                if let error { throw error }
                return nil
            case .page(let token):
                next = .end(nil)
                let answer = try await client.answer(
                    to: call, page: token, in: environments, deadline)
                environments = [answer.environment]
                guard case .pages = call.answer else { return answer }
                do throws(StoreError) {
                    switch try walk.take(answer.page) {
                    case .page(let token): next = .page(token)
                    case .end: next = .end(nil)
                    }
                } catch {
                    next = .end(error)
                }
                return answer
            }
        }

        public mutating func next() async throws(StoreError) -> StoreAnswer? {
            try await next(isolation: nil)
        }
    }
}

/// The state of walking through a list of pages: what page comes next, and when to stop. Holds no
/// page, and so has one size however many there are.
package struct PageWalk: Sendable {
    /// What an answer says about its list. Unsigned: it steers the walk and nothing else.
    package struct Page: Equatable, Sendable {
        package var hasMore: Bool
        /// `revision` of a history, `paginationToken` of the notifications.
        package var token: String?
        package var itemCount: Int
    }

    package enum Next: Equatable, Sendable {
        case page(token: String)
        case end
    }

    package let limit: Int
    /// Pages taken.
    package private(set) var count = 0
    private var emptyInARow = 0
    /// A token that came before. It moves to the newest one after 1, 2, 4, 8 … pages, and so meets
    /// each cycle of pages within three times its length (Brent's method).
    private var mark: String?
    private var markMoves = 1
    /// The token that asks for the newest page.
    private var asked: String?

    /// - Parameters:
    ///   - limit: the most pages.
    ///   - token: the token of the first page; nil for the beginning.
    package init(limit: Int = StoreLimits.pages, from token: String? = nil) {
        self.limit = limit
        asked = token
    }

    /// Takes a page; returns what to ask for next.
    package mutating func take(_ page: Page) throws(StoreError) -> Next {
        count += 1
        guard page.hasMore else { return .end }
        guard let token = page.token, !token.isEmpty else {
            throw .malformedAnswer("it has more pages, and no token for the next one")
        }
        guard token.utf8.count <= StoreLimits.pageTokenBytes else {
            throw .malformedAnswer(
                "the token of the next page has more than \(StoreLimits.pageTokenBytes) bytes")
        }
        guard token != asked, token != mark else { throw .pagesRepeat }
        emptyInARow = page.itemCount == 0 ? emptyInARow + 1 : 0
        guard emptyInARow < StoreLimits.emptyPages else { throw .emptyPages(count: emptyInARow) }
        guard count < limit else { throw .tooManyPages(limit: limit) }
        if count == markMoves {
            mark = token
            markMoves *= 2
        }
        asked = token
        return .page(token: token)
    }
}

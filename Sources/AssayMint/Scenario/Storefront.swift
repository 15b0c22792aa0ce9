/// A storefront of the App Store, in which a customer buys.
package struct Storefront: Sendable, Equatable {
    /// The country by three letters (ISO 3166-1).
    package let code: String
    /// Apple's number of the storefront.
    package let id: String
    package let currency: String

    static let unitedStates = Storefront("USA", "143441", "USD")

    private init(_ code: String, _ id: String, _ currency: String) {
        self.code = code
        self.id = id
        self.currency = currency
    }

    /// The storefronts that a customer can change to.
    package static let all = [
        unitedStates, Storefront("AUS", "143460", "AUD"), Storefront("BRA", "143503", "BRL"),
        Storefront("CAN", "143455", "CAD"), Storefront("CHN", "143465", "CNY"),
        Storefront("DEU", "143443", "EUR"), Storefront("FRA", "143442", "EUR"),
        Storefront("GBR", "143444", "GBP"), Storefront("IND", "143467", "INR"),
        Storefront("JPN", "143462", "JPY"), Storefront("KOR", "143466", "KRW"),
    ]
}

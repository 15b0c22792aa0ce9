/// The commands of `assay-dev`. `assay` lists them in its help, and runs that program for them.
package enum DevelopmentCommand: String, CaseIterable {
    case mint, store, load

    package static let program = "assay-dev"

    package var abstract: String {
        switch self {
        case .mint: "Make development evidence, and the authority that signs it."
        case .store: "Be an App Store, for the tests of a backend."
        case .load: "Send load to a server, and measure its answers."
        }
    }
}

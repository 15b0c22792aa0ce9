import Assay
import AssayBytes
import AssayMint

extension FuzzTarget {
    /// A scenario file. Invariant: it is refused with a location, or minted; the result is JSON,
    /// the same each time.
    static func scenario(_ authority: FuzzAuthority) -> FuzzTarget {
        guard
            let minter = try? ScenarioMinter(authority.tokens, receipts: authority.receipts),
            let seeds = try? Scenario.builtIn.compactMap({ Scenario.builtInSource($0.name) })
        else { preconditionFailure("no minter for scenarios") }
        return FuzzTarget(
            "Scenario", seeds: seeds, words: words,
            mutate: { LineMutation.mutate($0, &$1, from: seeds) }
        ) { bytes in
            let text = bytes.array(0..<bytes.count)
            do throws(MintError) {
                let scenario = try Scenario(json: text)
                let steps = try minter.mint(scenario)
                let again = try minter.mint(scenario)
                precondition(steps.map(\.expected) == again.map(\.expected), "minted another")
                for step in steps {
                    let isJSON = (try? JSONDocument.parse(step.expected, limit: .max)) != nil
                    precondition(isJSON, "the expected answer is not JSON")
                }
            } catch {
                switch error.reason {
                case .invalidMember, .unknownMember:
                    precondition(error.location?.isEmpty == false, "refused without a location")
                case .malformedScenario: break
                default: preconditionFailure("\(error)")
                }
                precondition(!error.message.isEmpty, "refused without a message")
            }
        }
    }

    private static let words = [
        "\"transactions\"", "\"evidence\"", "\"hold\"", "\"deliver\"", "\"receipt\"", "\"change\"",
        "\"10000000d\"", "\"-1ms\"", "null", "9223372036854775807",
    ]
}

import FoundationEssentials

enum ProcessEnvironment {
    static var variables: [String: String] { ProcessInfo.processInfo.environment }
}

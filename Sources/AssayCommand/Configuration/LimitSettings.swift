/// The limits that an operator may change.
struct LimitSettings {
    init() {}
    init(_ table: ConfigurationTable?) { table?.finish() }
}

// Exports the types of the public interface, so that `import AssayEntitlements` suffices.
@_exported public import AssayModels

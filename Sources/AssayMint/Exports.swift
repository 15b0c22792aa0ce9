// Exports the types of the public interface, so that `import AssayMint` suffices.
@_exported public import AssayModels

// Exports the types of the public interface, so that `import AssayWire` suffices.
@_exported public import AssayModels

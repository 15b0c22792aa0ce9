// Exports the types of the public interface, so that `import Assay` suffices.
@_exported public import AssayModels

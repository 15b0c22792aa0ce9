// Exports the types of the public interface, so that `import AssayStore` suffices.
@_exported public import Assay
@_exported public import AssayEntitlements
@_exported public import AssayModels

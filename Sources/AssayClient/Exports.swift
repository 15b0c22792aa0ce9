// What the client's interface speaks of: `import AssayClient` is enough to use it.
@_exported public import enum AssayIO.Endpoint
@_exported public import enum AssayIO.EndpointError
@_exported public import enum AssayIO.LoopError
@_exported public import AssayModels
@_exported public import AssayWire

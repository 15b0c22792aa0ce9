// What the client's interface speaks of: `import AssayClient` is enough to use it.
@_exported public import enum AssayLoop.Endpoint
@_exported public import enum AssayLoop.EndpointError
@_exported public import enum AssayLoop.LoopError
@_exported public import AssayModels
@_exported public import AssayWire

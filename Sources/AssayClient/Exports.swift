// Exports the types of the public interface, so that `import AssayClient` suffices.
@_exported public import class AssayIO.TLSContext
@_exported public import enum AssayIO.Endpoint
@_exported public import struct AssayIO.EndpointError
@_exported public import struct AssayIO.TLSClientSettings
@_exported public import struct AssayIO.TLSError
@_exported public import struct AssayIO.TLSServerSettings
@_exported public import AssayModels
@_exported public import AssayWire

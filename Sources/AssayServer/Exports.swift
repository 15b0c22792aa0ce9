// Exports the types of the public interface, so that `import AssayServer` suffices.
@_exported public import Assay
@_exported public import class AssayIO.TLSContext
@_exported public import enum AssayIO.Endpoint
@_exported public import enum AssayIO.ProcessSignal
@_exported public import struct AssayIO.EndpointError
@_exported public import struct AssayIO.InheritedSocket
@_exported public import struct AssayIO.InheritedSocketError
@_exported public import struct AssayIO.SocketFileAccess
@_exported public import struct AssayIO.TLSClientSettings
@_exported public import struct AssayIO.TLSError
@_exported public import struct AssayIO.TLSServerSettings
@_exported public import AssayKeepers
@_exported public import AssayModels
@_exported public import AssayService
@_exported public import AssaySessions
@_exported public import AssayTelemetry

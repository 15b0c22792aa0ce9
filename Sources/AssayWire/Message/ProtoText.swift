import CAssayProto

/// The text of `proto/assay/v1/assay.proto`, which Info returns.
package let protoText = unsafe String(cString: assay_proto_text())

/// The descriptors of the services and their messages, a `google.protobuf.FileDescriptorSet`.
package let serviceDescriptors = unsafe [UInt8](
    UnsafeBufferPointer(start: assay_services(), count: assay_services_bytes()))

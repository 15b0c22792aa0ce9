import CAssayProto

/// The text of `proto/assay/v1/assay.proto`, which Info returns.
package let protoText = unsafe String(cString: assay_proto_text())

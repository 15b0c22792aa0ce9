import CAssayProto

/// The text of `proto/openapi.json`, the OpenAPI document of the HTTP listener.
package let openAPIText = unsafe String(cString: assay_openapi_text())

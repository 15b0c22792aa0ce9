#ifndef ASSAY_PROTO_TEXT_H
#define ASSAY_PROTO_TEXT_H

#include <stddef.h>

/// The text of proto/assay/v1/assay.proto, ending with NUL. Constant data of the program.
const char *assay_proto_text(void);

/// The text of proto/openapi.json, likewise.
const char *assay_openapi_text(void);

/// proto/services.binpb, a google.protobuf.FileDescriptorSet. Constant data of the program.
const unsigned char *assay_services(void);
size_t assay_services_bytes(void);

#endif

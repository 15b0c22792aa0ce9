#ifndef ASSAY_PROTO_TEXT_H
#define ASSAY_PROTO_TEXT_H

/// The text of proto/assay/v1/assay.proto, ending with NUL. Constant data of the program.
const char *assay_proto_text(void);

/// The text of proto/openapi.json, likewise.
const char *assay_openapi_text(void);

#endif

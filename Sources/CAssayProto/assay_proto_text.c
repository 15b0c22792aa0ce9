#include "assay_proto_text.h"

// The compiler reads the contracts themselves, so the texts in the program cannot differ from them.
#pragma clang diagnostic ignored "-Wc23-extensions"
static const char text[] = {
#embed "../../proto/assay/v1/assay.proto" suffix(, )
    0,
};
static const char openapi[] = {
#embed "../../proto/openapi.json" suffix(, )
    0,
};
static const unsigned char services[] = {
#embed "../../proto/services.binpb"
};

const char *assay_proto_text(void) { return text; }
const char *assay_openapi_text(void) { return openapi; }
const unsigned char *assay_services(void) { return services; }
size_t assay_services_bytes(void) { return sizeof services; }

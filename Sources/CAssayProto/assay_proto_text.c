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

const char *assay_proto_text(void) { return text; }
const char *assay_openapi_text(void) { return openapi; }

#include "assay_proto_text.h"

// The compiler reads the contract itself, so the text in the program cannot differ from it.
#pragma clang diagnostic ignored "-Wc23-extensions"
static const char text[] = {
#embed "../../proto/assay/v1/assay.proto" suffix(, )
    0,
};

const char *assay_proto_text(void) { return text; }

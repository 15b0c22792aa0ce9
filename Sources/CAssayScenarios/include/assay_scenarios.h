#ifndef ASSAY_SCENARIOS_H
#define ASSAY_SCENARIOS_H

/// The files of Sources/AssayMint/Scenarios as a JSON text sequence (RFC 7464): each begins with a
/// record separator. Ends with NUL. Constant data of the program.
const char *assay_scenarios(void);

#endif

// glibc 2.35 gave hypot and hypotf a second version, which reports errors in errno otherwise. The
// linker takes the newest version of a symbol, and so the executable would not start with an older
// glibc. script/build-release links this file and wraps the two, for the version of all glibc.
#if defined(__x86_64__)
#define VERSION "GLIBC_2.2.5"
#elif defined(__aarch64__)
#define VERSION "GLIBC_2.17"
#else
#error "name the first version of glibc for this architecture"
#endif

__asm__(".symver first_hypot, hypot@" VERSION);
__asm__(".symver first_hypotf, hypotf@" VERSION);

double first_hypot(double x, double y);
float first_hypotf(float x, float y);

double __wrap_hypot(double x, double y) { return first_hypot(x, y); }
float __wrap_hypotf(float x, float y) { return first_hypotf(x, y); }

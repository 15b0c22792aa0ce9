#include "allocations.h"

#include <errno.h>
#include <stddef.h>

/* glibc's own, under the names that programs which replace malloc may call. A program's malloc
 * stands before glibc's for every library that it loads; free stays glibc's. */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

/* A thread's own, so that counting costs next to nothing. */
static _Thread_local unsigned long allocations;

unsigned long bench_allocations(void) { return allocations; }

/* A sanitizer replaces malloc itself, and can't start behind another replacement. Nothing is
 * measured in such a build. */
#if !__has_feature(thread_sanitizer) && !__has_feature(address_sanitizer)

static void count(void) { allocations++; }

void *malloc(size_t size) {
    count();
    return __libc_malloc(size);
}

void *calloc(size_t number, size_t size) {
    count();
    return __libc_calloc(number, size);
}

void *realloc(void *block, size_t size) {
    count();
    return __libc_realloc(block, size);
}

void *memalign(size_t alignment, size_t size) {
    count();
    return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    count();
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **block, size_t alignment, size_t size) {
    count();
    *block = __libc_memalign(alignment, size);
    return *block == NULL ? ENOMEM : 0;
}

#endif

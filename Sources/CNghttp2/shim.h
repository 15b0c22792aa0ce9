#pragma once
#include <malloc.h>
#include <nghttp2/nghttp2.h>
#include <stdlib.h>

/// What a session of nghttp2 holds, and its largest allocation. Its user is one thread.
typedef struct {
    size_t held;
    size_t largest;
} assay_nghttp2_memory;

static inline void *assay_nghttp2_malloc(size_t size, void *user) {
    assay_nghttp2_memory *memory = (assay_nghttp2_memory *)user;
    void *block = size > memory->largest ? NULL : malloc(size);
    if (block != NULL) memory->held += malloc_usable_size(block);
    return block;
}

static inline void assay_nghttp2_free(void *block, void *user) {
    if (block == NULL) return;
    ((assay_nghttp2_memory *)user)->held -= malloc_usable_size(block);
    free(block);
}

static inline void *assay_nghttp2_calloc(size_t count, size_t size, void *user) {
    assay_nghttp2_memory *memory = (assay_nghttp2_memory *)user;
    void *block = size != 0 && count > memory->largest / size ? NULL : calloc(count, size);
    if (block != NULL) memory->held += malloc_usable_size(block);
    return block;
}

static inline void *assay_nghttp2_realloc(void *former, size_t size, void *user) {
    assay_nghttp2_memory *memory = (assay_nghttp2_memory *)user;
    size_t before = former == NULL ? 0 : malloc_usable_size(former);
    void *block = size > memory->largest ? NULL : realloc(former, size);
    if (block != NULL) memory->held += malloc_usable_size(block) - before;
    return block;
}

/// Creates a server's session whose memory is counted. `memory` outlives it.
static inline int assay_nghttp2_server_new(
    nghttp2_session **session, const nghttp2_session_callbacks *callbacks, void *user,
    const nghttp2_option *option, assay_nghttp2_memory *memory) {
    nghttp2_mem functions = {memory, assay_nghttp2_malloc, assay_nghttp2_free,
                             assay_nghttp2_calloc, assay_nghttp2_realloc};
    return nghttp2_session_server_new3(session, callbacks, user, option, &functions);
}

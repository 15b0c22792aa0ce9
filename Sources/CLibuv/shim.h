#include <linux/filter.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <uv.h>

// What SO_PEERCRED answers: glibc declares struct ucred for _GNU_SOURCE alone.
struct assay_peer {
    int process;
    unsigned int user;
    unsigned int group;
};

// glibc declares it for _GNU_SOURCE alone; libuv 1.44 has no call for it.
extern int pthread_setname_np(pthread_t thread, const char *name);

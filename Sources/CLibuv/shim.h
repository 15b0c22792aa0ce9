#include <linux/filter.h>
#include <pthread.h>
#include <sys/timerfd.h>
#include <uv.h>

// glibc declares it for _GNU_SOURCE alone; libuv 1.44 has no call for it.
extern int pthread_setname_np(pthread_t thread, const char *name);

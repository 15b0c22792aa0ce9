#include "CMicrohttpd.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

static struct cmicrohttpd table;
static __typeof__(MHD_start_daemon) *start_daemon;
static __typeof__(MHD_get_connection_info) *get_connection_info;
static int is_loaded;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void) {
  // The name with the number of the interface that the header above describes.
  void *library = dlopen("libmicrohttpd.so.12", RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) return;
  const struct {
    void *place;
    const char *name;
  } symbols[] = {
      {&table.stop_daemon, "MHD_stop_daemon"},
      {&table.run_wait, "MHD_run_wait"},
      {&table.create_response_from_buffer, "MHD_create_response_from_buffer"},
      {&table.add_response_header, "MHD_add_response_header"},
      {&table.queue_response, "MHD_queue_response"},
      {&table.destroy_response, "MHD_destroy_response"},
      {&table.lookup_connection_value, "MHD_lookup_connection_value"},
      {&table.suspend_connection, "MHD_suspend_connection"},
      {&table.resume_connection, "MHD_resume_connection"},
      {&start_daemon, "MHD_start_daemon"},
      {&get_connection_info, "MHD_get_connection_info"},
  };
  for (size_t index = 0; index < sizeof symbols / sizeof symbols[0]; index++) {
    void *symbol = dlsym(library, symbols[index].name);
    if (symbol == NULL) return;
    *(void **)symbols[index].place = symbol;
  }
  is_loaded = 1;
}

const struct cmicrohttpd *cmicrohttpd_load(void) {
  pthread_once(&once, load);
  return is_loaded ? &table : NULL;
}

// Leaves a path as it was sent: decoded, "/metrics%00" would be the C string "/metrics".
static size_t keep_escapes(void *context, struct MHD_Connection *connection, char *text) {
  (void)context;
  (void)connection;
  return strlen(text);
}

struct MHD_Daemon *cmicrohttpd_start(int listener, MHD_AccessHandlerCallback answer,
                                     MHD_NotifyConnectionCallback notify, void *context,
                                     unsigned int connections, size_t connection_bytes,
                                     unsigned int idle_seconds) {
  if (cmicrohttpd_load() == NULL) return NULL;
  return start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, answer, context,
                      MHD_OPTION_LISTEN_SOCKET, (MHD_socket)listener,
                      MHD_OPTION_CONNECTION_LIMIT, connections,
                      MHD_OPTION_CONNECTION_MEMORY_LIMIT, connection_bytes,
                      MHD_OPTION_CONNECTION_TIMEOUT, idle_seconds,
                      MHD_OPTION_NOTIFY_CONNECTION, notify, context,
                      MHD_OPTION_UNESCAPE_CALLBACK, keep_escapes, NULL,
                      MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
}

int cmicrohttpd_socket(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info =
      get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  return info == NULL ? -1 : info->connect_fd;
}

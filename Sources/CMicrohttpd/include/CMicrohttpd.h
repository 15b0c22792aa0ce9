// libmicrohttpd, loaded on first use: it needs a dozen libraries (GnuTLS and its own), 2.6 MB of
// resident memory that a server without an admin listener saves.
#ifndef CMICROHTTPD_H
#define CMICROHTTPD_H

#include <microhttpd.h>

// Its functions, by pointers that are typed after the library's own declarations.
struct cmicrohttpd {
  __typeof__(MHD_stop_daemon) *stop_daemon;
  __typeof__(MHD_run_wait) *run_wait;
  __typeof__(MHD_create_response_from_buffer) *create_response_from_buffer;
  __typeof__(MHD_add_response_header) *add_response_header;
  __typeof__(MHD_queue_response) *queue_response;
  __typeof__(MHD_destroy_response) *destroy_response;
  __typeof__(MHD_lookup_connection_value) *lookup_connection_value;
  __typeof__(MHD_suspend_connection) *suspend_connection;
  __typeof__(MHD_resume_connection) *resume_connection;
};

// NULL where the library is not installed.
const struct cmicrohttpd *cmicrohttpd_load(void);

// A daemon on a listening socket, which it owns from now on; it runs in run_wait. A function, as
// Swift sees no variadic ones.
struct MHD_Daemon *cmicrohttpd_start(int listener, MHD_AccessHandlerCallback answer,
                                     MHD_NotifyConnectionCallback notify, void *context,
                                     unsigned int connections, size_t connection_bytes,
                                     unsigned int idle_seconds);

// The socket of a connection; get_connection_info is variadic, too.
int cmicrohttpd_socket(struct MHD_Connection *connection);

#endif

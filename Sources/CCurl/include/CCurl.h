// libcurl, loaded on first use: with HTTP/2, Kerberos and LDAP it brings two dozen libraries, which a
// process without the App Store Server API need not have.
#ifndef CCURL_H
#define CCURL_H

#include <curl/curl.h>

// Its functions, by pointers that are typed after the library's own declarations.
struct ccurl {
  __typeof__(curl_version_info) *version_info;
  __typeof__(curl_easy_init) *easy_init;
  __typeof__(curl_easy_cleanup) *easy_cleanup;
  __typeof__(curl_easy_strerror) *easy_strerror;
  __typeof__(curl_slist_append) *slist_append;
  __typeof__(curl_slist_free_all) *slist_free_all;
  __typeof__(curl_multi_init) *multi_init;
  __typeof__(curl_multi_cleanup) *multi_cleanup;
  __typeof__(curl_multi_add_handle) *multi_add_handle;
  __typeof__(curl_multi_remove_handle) *multi_remove_handle;
  __typeof__(curl_multi_socket_action) *multi_socket_action;
};

// NULL where the library is not installed.
const struct ccurl *ccurl_load(void);

// The functions below stand for the library's variadic ones, which Swift does not see. Each returns
// whether the library accepted the value.
int ccurl_set_number(CURL *easy, CURLoption option, long number);
// Text is copied, except that of CURLOPT_POSTFIELDS, which has a function of its own.
int ccurl_set_text(CURL *easy, CURLoption option, const char *text);
int ccurl_set_headers(CURL *easy, struct curl_slist *headers);
// Copies the bytes.
int ccurl_set_body(CURL *easy, const void *bytes, size_t count);
// Both callbacks get the context: bytes of the body, and one header line at a time.
int ccurl_set_sink(CURL *easy, curl_write_callback body, curl_write_callback header,
                   void *context);
int ccurl_set_private(CURL *easy, void *context);
long ccurl_get_number(CURL *easy, CURLINFO info);
void *ccurl_get_private(CURL *easy);

int ccurl_multi_set_number(CURLM *multi, CURLMoption option, long number);
int ccurl_multi_set_callbacks(CURLM *multi, curl_socket_callback socket,
                              curl_multi_timer_callback timer, void *context);
// The next transfer that ended; NULL if there is none.
CURL *ccurl_multi_next_ended(CURLM *multi, CURLcode *result);

#endif

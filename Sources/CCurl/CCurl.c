#include "CCurl.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>

static struct ccurl table;
static __typeof__(curl_global_init) *global_init;
static CURLcode (*easy_setopt)(CURL *, CURLoption, ...);
static CURLcode (*easy_getinfo)(CURL *, CURLINFO, ...);
static CURLMcode (*multi_setopt)(CURLM *, CURLMoption, ...);
static __typeof__(curl_multi_info_read) *multi_info_read;
static int is_loaded;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void) {
  // The name with the number of the interface that the header above describes.
  void *library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) return;
  const struct {
    void *place;
    const char *name;
  } symbols[] = {
      {&table.version_info, "curl_version_info"},
      {&table.easy_init, "curl_easy_init"},
      {&table.easy_cleanup, "curl_easy_cleanup"},
      {&table.easy_strerror, "curl_easy_strerror"},
      {&table.slist_append, "curl_slist_append"},
      {&table.slist_free_all, "curl_slist_free_all"},
      {&table.multi_init, "curl_multi_init"},
      {&table.multi_cleanup, "curl_multi_cleanup"},
      {&table.multi_add_handle, "curl_multi_add_handle"},
      {&table.multi_remove_handle, "curl_multi_remove_handle"},
      {&table.multi_socket_action, "curl_multi_socket_action"},
      {&global_init, "curl_global_init"},
      {&easy_setopt, "curl_easy_setopt"},
      {&easy_getinfo, "curl_easy_getinfo"},
      {&multi_setopt, "curl_multi_setopt"},
      {&multi_info_read, "curl_multi_info_read"},
  };
  for (size_t index = 0; index < sizeof symbols / sizeof symbols[0]; index++) {
    void *symbol = dlsym(library, symbols[index].name);
    if (symbol == NULL) return;
    *(void **)symbols[index].place = symbol;
  }
  // The version of Debian 12 does this safely beside other threads (7.84 and newer).
  if (global_init(CURL_GLOBAL_ALL) != CURLE_OK) return;
  is_loaded = 1;
}

const struct ccurl *ccurl_load(void) {
  pthread_once(&once, load);
  return is_loaded ? &table : NULL;
}

int ccurl_set_number(CURL *easy, CURLoption option, long number) {
  return easy_setopt(easy, option, number) == CURLE_OK;
}

int ccurl_set_text(CURL *easy, CURLoption option, const char *text) {
  return easy_setopt(easy, option, text) == CURLE_OK;
}

int ccurl_set_headers(CURL *easy, struct curl_slist *headers) {
  return easy_setopt(easy, CURLOPT_HTTPHEADER, headers) == CURLE_OK;
}

int ccurl_set_body(CURL *easy, const void *bytes, size_t count) {
  return easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)count) == CURLE_OK &&
         easy_setopt(easy, CURLOPT_COPYPOSTFIELDS, bytes) == CURLE_OK;
}

int ccurl_set_sink(CURL *easy, curl_write_callback body, curl_write_callback header,
                   void *context) {
  return easy_setopt(easy, CURLOPT_WRITEFUNCTION, body) == CURLE_OK &&
         easy_setopt(easy, CURLOPT_WRITEDATA, context) == CURLE_OK &&
         easy_setopt(easy, CURLOPT_HEADERFUNCTION, header) == CURLE_OK &&
         easy_setopt(easy, CURLOPT_HEADERDATA, context) == CURLE_OK;
}

int ccurl_set_private(CURL *easy, void *context) {
  return easy_setopt(easy, CURLOPT_PRIVATE, context) == CURLE_OK;
}

long ccurl_get_number(CURL *easy, CURLINFO info) {
  long number = 0;
  return easy_getinfo(easy, info, &number) == CURLE_OK ? number : 0;
}

void *ccurl_get_private(CURL *easy) {
  char *context = NULL;
  return easy_getinfo(easy, CURLINFO_PRIVATE, &context) == CURLE_OK ? context : NULL;
}

int ccurl_multi_set_number(CURLM *multi, CURLMoption option, long number) {
  return multi_setopt(multi, option, number) == CURLM_OK;
}

int ccurl_multi_set_callbacks(CURLM *multi, curl_socket_callback socket,
                              curl_multi_timer_callback timer, void *context) {
  return multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, socket) == CURLM_OK &&
         multi_setopt(multi, CURLMOPT_SOCKETDATA, context) == CURLM_OK &&
         multi_setopt(multi, CURLMOPT_TIMERFUNCTION, timer) == CURLM_OK &&
         multi_setopt(multi, CURLMOPT_TIMERDATA, context) == CURLM_OK;
}

CURL *ccurl_multi_next_ended(CURLM *multi, CURLcode *result) {
  int left = 0;
  CURLMsg *message;
  while ((message = multi_info_read(multi, &left)) != NULL) {
    if (message->msg != CURLMSG_DONE) continue;
    *result = message->data.result;
    return message->easy_handle;
  }
  return NULL;
}

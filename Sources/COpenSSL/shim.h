#if __has_include(<openssl/ssl.h>)
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#else
#error "OpenSSL was not found. Install it: apt-get install libssl-dev, brew install openssl, or yum install openssl-devel. Or do without TLS: disable the package trait 'TLS'"
#endif

#if OPENSSL_VERSION_NUMBER < 0x10101000L
#error "OpenSSL is older than 1.1.1, the first release with TLS 1.3"
#endif

// What OpenSSL offers as macros only, which Swift does not see.

static int shared_state_tls_no_password(char *buffer, int size, int is_writing, void *data) {
  (void)buffer, (void)size, (void)is_writing, (void)data;
  return 0;
}

// A context for clients that verify the server; NULL if there is no memory.
static inline SSL_CTX *shared_state_tls_context(void) {
  // OpenSSL must not clean up when the process exits: threads still use it then.
  if (!OPENSSL_init_ssl(OPENSSL_INIT_NO_ATEXIT, NULL)) return NULL;
  SSL_CTX *context = SSL_CTX_new(TLS_client_method());
  if (!context) return NULL;
  // The system's configuration may require more.
  if (SSL_CTX_get_min_proto_version(context) < TLS1_2_VERSION) SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
  // Otherwise a protected key would be asked for at the terminal.
  SSL_CTX_set_default_passwd_cb(context, shared_state_tls_no_password);
  return context;
}

static inline int shared_state_tls_set_server_name(SSL *connection, const char *name) {
  return (int)SSL_set_tlsext_host_name(connection, name);
}

// The bytes that a memory BIO holds, valid until it is changed.
static inline long shared_state_tls_held(BIO *memory, char **bytes) {
  return BIO_get_mem_data(memory, bytes);
}

// The certificate of the other end, to be freed; NULL if there is none.
static inline X509 *shared_state_tls_peer_certificate(const SSL *connection) {
  return SSL_get_peer_certificate(connection);
}

static inline int shared_state_tls_reason(unsigned long error) {
  return ERR_GET_REASON(error);
}

static inline int shared_state_tls_is_system_error(unsigned long error) {
  return ERR_GET_LIB(error) == ERR_LIB_SYS;
}

#error "This build must not need OpenSSL."

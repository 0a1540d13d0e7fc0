// hiredis is in <hiredis/hiredis.h> on Debian, Fedora and Homebrew, and in <hiredis.h> where pkg-config
// points into its folder.
#if __has_include(<hiredis/hiredis.h>)
#include <hiredis/hiredis.h>
#elif __has_include(<hiredis.h>)
#include <hiredis.h>
#else
#error "hiredis was not found. Install it: apt-get install libhiredis-dev, brew install hiredis, or yum install hiredis-devel"
#endif

// Swift's own module of the C library leaves it out.
#if defined(__linux__)
#include <sys/eventfd.h>
#endif

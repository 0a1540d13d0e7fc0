// Headers that the Glibc module of Swift leaves out.
#include <sys/epoll.h>
#include <sys/eventfd.h>

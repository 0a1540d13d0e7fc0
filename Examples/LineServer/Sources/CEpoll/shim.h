// What Swift's Glibc leaves out.
#include <sys/epoll.h>
#include <sys/eventfd.h>

#ifndef FUZZER_H
#define FUZZER_H

#include <stddef.h>
#include <stdint.h>

/// Calls a function with one input after the other, as the arguments of the program say. It may end the program.
int LLVMFuzzerRunDriver(int *_Nonnull argument_count, char *_Nullable *_Nonnull *_Nonnull arguments,
                        int (*_Nonnull run)(const uint8_t *_Nullable bytes, size_t count));

#endif

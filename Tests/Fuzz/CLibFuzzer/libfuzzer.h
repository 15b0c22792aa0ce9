#pragma once
#include <stddef.h>
#include <stdint.h>

// What libFuzzer offers to a target's own mutator: its usual mutations, in place. Gives the new
// size. https://llvm.org/docs/LibFuzzer.html
size_t LLVMFuzzerMutate(uint8_t *bytes, size_t size, size_t largest_size);

#ifndef BENCH_ALLOCATIONS_H
#define BENCH_ALLOCATIONS_H

/* Blocks that this thread has asked malloc and its kin for since its start. */
unsigned long bench_allocations(void);

#endif

/* The C interface of the CPU back end: a plug-in loaded at run time (libfathom_cpu.so), so that nothing else pays for LLVM.
   All strings are UTF-8 and owned by the plug-in's result until freed. Thread-safe; a kernel may be run from any thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FATHOM_CPU_ABI 2

typedef struct fathom_cpu_module fathom_cpu_module;

/* A tensor argument: strides in elements, one an axis. A scalar has rank 0. */
typedef struct {
  void* data;
  const int64_t* extents;
  const int64_t* strides;
  int32_t rank;
} fathom_tensor;

typedef struct {
  int32_t abi;                       /* FATHOM_CPU_ABI */
  const char* (*host_cpu)(void);     /* name and features of the host, as LLVM gives them */
  int32_t (*vector_lanes)(void);     /* f32 lanes that the host prefers */

  /* Compiles the Kernel-level text of a module. On failure returns NULL and sets *error (free with free_text). */
  fathom_cpu_module* (*compile)(const char* kernel_text, char** error);
  /* LLVM IR or assembly of the compiled module. */
  char* (*llvm_ir)(const fathom_cpu_module*);
  char* (*assembly)(const fathom_cpu_module*);
  /* For each line of these texts the line of the printed module that it is made for, counted from 1; 0: of none. Numbers between spaces. */
  char* (*llvm_ir_lines)(const fathom_cpu_module*);
  char* (*assembly_lines)(const fathom_cpu_module*);

  /* Runs the module: params then results in declared order; run-time dimensions in declared order. threads 0: one a core.
     Returns 0, or 1 with *error set when the launch contract fails. Blocks until done. */
  int32_t (*run)(const fathom_cpu_module*, const fathom_tensor* arguments, int32_t count, const int64_t* dims, int32_t dim_count,
                 int32_t threads, char** error);
  void (*free_module)(fathom_cpu_module*);
  void (*free_text)(char*);
  double (*peak_gflops)(int32_t threads);   /* measured FMA peak, f32: for benchmarks */
} fathom_cpu_api;

const fathom_cpu_api* fathom_cpu_plugin(void);

#ifdef __cplusplus
}
#endif

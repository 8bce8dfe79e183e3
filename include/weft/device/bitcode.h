/* Weft inside kernels for compilers that link LLVM bitcode rather than include C++: Triton, Numba,
 * Julia and the like link lib/weft/weft_device.bc, whose functions these are. Each is a call of
 * weft::dev::Context (weft/device/context.hpp); docs/guide/run-time-compilation.md shows some.
 *
 * weft_NAME_SCOPE is called by all threads of its scope (thread, warp, block) with the same
 * arguments, and all get the same result: of an atomic, a signal or a test, too, which the scope's
 * first thread carries out. A call of a Triton program on scalars is made by all its threads: there
 * it is the _block form that is wanted.
 *
 * Addresses are integers, since languages differ in how pointers know their address space. Every
 * function returns something, since some languages have no other calls: what it asked for, or
 * whether all went well (1: yes; 0: the deadline passed or the arguments were refused, and the
 * runtime's fault record says where), or 0 where nothing is to be told. */
#ifndef WEFT_DEVICE_BITCODE_H
#define WEFT_DEVICE_BITCODE_H

#include <stdint.h>

typedef uint64_t weft_address;

/* context: what weft::Context::device_pointer() gives on the host.
 * dst of a put, src of a get, signal, word: my addresses of symmetric memory. bytes: of the data;
 * the alignment of the ends decides how wide they are moved.
 * team: of a weft::Team in memory that kernels read; 0: all PEs. Its functions count ranks in it.
 * cmp: one of these, as in `*word cmp value`. */
enum { WEFT_EQ = 0, WEFT_NE = 1, WEFT_GT = 2, WEFT_GE = 3, WEFT_LT = 4, WEFT_LE = 5 };

/* weft_current_context gives the context of the module: the host stores what
 * weft::Context::device() gives in its variable weft_current_device_context (cuModuleGetGlobal), in
 * constant memory. For languages whose kernels have no argument for it, and a little faster.
 * weft_thread_rank: of the calling thread in its block. Their parameter is not used: some languages
 * have no calls without any. */

#ifndef WEFT_BITCODE_FUNCTION /* what goes before a function */
#define WEFT_BITCODE_FUNCTION
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_BITCODE(result, name, type, scope, parameters, arguments) \
  WEFT_BITCODE_FUNCTION result weft_##name##type##scope parameters;
#include <weft/tables/bitcode.def.h>

#ifdef __cplusplus
}
#endif

#endif

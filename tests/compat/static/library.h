// Variables of a shared library.
#ifndef WEFT_TESTS_COMPAT_STATIC_LIBRARY_H_
#define WEFT_TESTS_COMPAT_STATIC_LIBRARY_H_

#ifdef __cplusplus
extern "C" {
#endif

extern long library_variable;      // a program that names it may have a copy of its own
long* library_hidden(void);        // never copied
long library_sees_variable(void);  // what the library itself finds there

#ifdef __cplusplus
}
#endif

#endif

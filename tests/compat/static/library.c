#include "library.h"

long library_variable = 77;
static long hidden[1000] = {88};

long* library_hidden(void) { return hidden; }
long library_sees_variable(void) { return library_variable; }

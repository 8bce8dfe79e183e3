/* Deprecated name of <shmemx.h>: OpenSHMEM 1.5, annex E. */
#include "../shmemx.h"

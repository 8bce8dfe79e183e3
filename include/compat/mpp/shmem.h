/* Deprecated name of <shmem.h>: OpenSHMEM 1.5, annex E. */
#include "../shmem.h"

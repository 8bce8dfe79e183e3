/* Extensions of OpenSHMEM: Weft has none in C; its own interface is <weft/weft.hpp>. */
#include "shmem.h"

/* Names without an element type or size. See routines.def.h. */
#include "job.def.h"
#include "memory.def.h"
#include "team.def.h"

/* Families. See routines.def.h. */
#include "rma.def.h"
#include "amo.def.h"
#include "wait.def.h"
#include "collective.def.h"

// The device API without launches: for names that stand on it (NVSHMEM). Everybody else
// includes weft/device.hpp. The contract first, then the bodies, which users never include by hand;
// the host's reading of nvcc needs none.
#pragma once

#include <weft/device/names_push.h>

#include <weft/device/handle.hpp>
#include <weft/device/scope.hpp>
#include <weft/device/context.hpp>
#include <weft/device/collective.hpp>
#include <weft/device/copy.hpp>
#include <weft/device/flag.hpp>
#include <weft/device/ll.hpp>
#include <weft/device/tile.hpp>
#include <weft/device/lamport.hpp>

#if WEFT_DEVICE_BODIES
#include <weft/dev/scope.hpp>
#include <weft/dev/bulk.hpp>
#include <weft/dev/rma.hpp>
#include <weft/dev/atomic.hpp>
#include <weft/dev/signal.hpp>
#include <weft/dev/sync.hpp>
#include <weft/dev/collective.hpp>
#include <weft/dev/flag.hpp>
#include <weft/dev/ll.hpp>
#include <weft/dev/tile.hpp>
#include <weft/dev/lamport.hpp>
#endif

#include <weft/device/names_pop.h>

# The transport ib, if it is wanted and the headers of verbs are found: WEFT_HAVE_IB is 1 or 0. The
# library itself is looked for at run time.
set(WEFT_HAVE_IB 0)
if(NOT WEFT_IB STREQUAL "OFF")
  find_path(WEFT_IB_INCLUDE infiniband/verbs.h)
  mark_as_advanced(WEFT_IB_INCLUDE)
  if(WEFT_IB_INCLUDE)
    set(WEFT_HAVE_IB 1)
  elseif(WEFT_IB STREQUAL "ON")
    message(FATAL_ERROR "WEFT_IB is ON but there is no infiniband/verbs.h; install libibverbs-dev, or "
                        "set WEFT_IB to AUTO or OFF")
  else()
    message(STATUS "weft: no infiniband/verbs.h (libibverbs-dev): built without the transport ib")
  endif()
endif()

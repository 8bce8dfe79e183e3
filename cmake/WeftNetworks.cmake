# The transports by networks, each if it is wanted and the headers of its library are found: WEFT_HAVE_IB is
# 1 or 0. The libraries themselves are looked for at run time.
function(weft_find_network name transport header package)
  set(found 0)
  if(NOT WEFT_${name} STREQUAL "OFF")
    find_path(WEFT_${name}_INCLUDE ${header})
    mark_as_advanced(WEFT_${name}_INCLUDE)
    if(WEFT_${name}_INCLUDE)
      set(found 1)
    elseif(WEFT_${name} STREQUAL "ON")
      message(FATAL_ERROR "WEFT_${name} is ON but there is no ${header}; install ${package}, or set "
                          "WEFT_${name} to AUTO or OFF")
    else()
      message(STATUS "weft: no ${header} (${package}): built without the transport ${transport}")
    endif()
  endif()
  set(WEFT_HAVE_${name} ${found} PARENT_SCOPE)
endfunction()
weft_find_network(IB ib infiniband/verbs.h libibverbs-dev)

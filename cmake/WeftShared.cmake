# weft_shared_library(TARGET): what the libraries that programs load have in common, where they are shared.
#
# exports.map keeps to the library what is not Weft's own. Headers of the standard library give their templates
# default visibility, so an exported one would be bound to that of another library, or the other way round; with
# -static-libstdc++ there would be two libraries of streams in a process, and each would read by the facets of the other.
#
# nodelete: threads that run grids, exit handlers and modules of the program outlive dlclose().
set(weft_exports ${CMAKE_CURRENT_LIST_DIR}/exports.map)

function(weft_shared_library target)
  set_target_properties(${target} PROPERTIES VERSION ${PROJECT_VERSION}
                        SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
  target_link_options(${target} PRIVATE -Wl,-z,nodelete -Wl,--version-script=${weft_exports})
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${weft_exports})
endfunction()

# weft::weft, what users link; and weft_internal, the same objects with internals visible, for tests.
add_library(weft)
add_library(weft::weft ALIAS weft)
target_link_libraries(weft PRIVATE weft_objects PUBLIC weft_device Threads::Threads PRIVATE fmt::fmt)
set_target_properties(weft PROPERTIES VERSION ${PROJECT_VERSION}
                      SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
# The threads that run grids live as long as the process, so their code must stay: dlclose() leaves it.
target_link_options(weft PRIVATE -Wl,-z,nodelete)

add_library(weft_internal STATIC EXCLUDE_FROM_ALL)
target_link_libraries(weft_internal PUBLIC weft_objects weft_compile weft_device fmt::fmt
                      Threads::Threads)
target_include_directories(weft_internal PUBLIC ${PROJECT_SOURCE_DIR})

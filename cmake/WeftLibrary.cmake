# weft::weft, what users link; and weft_internal, the same objects with internals visible, for tests.
add_library(weft)
add_library(weft::weft ALIAS weft)
target_link_libraries(weft PRIVATE weft_objects PUBLIC weft_device Threads::Threads PRIVATE fmt::fmt)
weft_shared_library(weft)

add_library(weft_internal STATIC EXCLUDE_FROM_ALL)
target_link_libraries(weft_internal PUBLIC weft_objects weft_compile weft_device fmt::fmt
                      Threads::Threads)
target_include_directories(weft_internal PUBLIC ${PROJECT_SOURCE_DIR})

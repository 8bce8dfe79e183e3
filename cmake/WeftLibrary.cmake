# weft::weft, what users link; and weft_internal, the same objects with internals visible, for tests.
# A folder's files in one: their headers are parsed once, which is three quarters of the work. These files have
# names of their own that a neighbour has, too, or types that GCC wants in one unit; a test links another one in place
# of transport.cpp.
weft_unity_by_folder(weft_objects ALONE bootstrap/pmi/pmi2.cpp host/context/gpu_transfer.cpp
                     host/memory/offset_allocator.cpp host/runtime/agreement.cpp host/transport/transport.cpp
                     src/platform/cpu/thread_pool.cpp src/platform/cpu/reservation.cpp src/platform/gpu/reservation.cpp)

add_library(weft)
add_library(weft::weft ALIAS weft)
target_link_libraries(weft PRIVATE weft_objects PUBLIC weft_device Threads::Threads PRIVATE fmt::fmt)
weft_shared_library(weft)

add_library(weft_internal STATIC EXCLUDE_FROM_ALL)
target_link_libraries(weft_internal PUBLIC weft_objects weft_compile weft_device fmt::fmt
                      Threads::Threads)
target_include_directories(weft_internal PUBLIC ${PROJECT_SOURCE_DIR})

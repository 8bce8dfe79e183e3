# How everything is compiled: one interface target with language level, warnings and sanitizers. The variables below
# hold for Weft's folders: a project that includes Weft does not see them.
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ${PROJECT_IS_TOP_LEVEL})
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)

if(NOT WEFT_SANITIZE)
  set(CMAKE_DISABLE_PRECOMPILE_HEADERS ON)  # see weft_objects
endif()

# The presets' environment lets every clone of the repository share what is cached.
find_program(WEFT_CCACHE_PROGRAM ccache)
mark_as_advanced(WEFT_CCACHE_PROGRAM)
foreach(language IN ITEMS C CXX CUDA)
  if(WEFT_CCACHE AND WEFT_CCACHE_PROGRAM AND NOT DEFINED CMAKE_${language}_COMPILER_LAUNCHER)
    set(CMAKE_${language}_COMPILER_LAUNCHER ${WEFT_CCACHE_PROGRAM})
  endif()
endforeach()

# Other targets than those of weft_unity_by_folder() are compiled some sources at a time.
set(CMAKE_UNITY_BUILD ${WEFT_UNITY})
set(CMAKE_UNITY_BUILD_BATCH_SIZE 16)

# weft_unity_by_folder(TARGET ALONE sources...): with WEFT_UNITY, each folder's sources are compiled as one. Those ALONE,
# named from the root of the project, are not.
function(weft_unity_by_folder target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "ALONE")
  set_target_properties(${target} PROPERTIES UNITY_BUILD_MODE GROUP)
  get_target_property(folder ${target} SOURCE_DIR)
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${folder} OUTPUT_VARIABLE path)
    cmake_path(RELATIVE_PATH path BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE name)
    cmake_path(GET name PARENT_PATH group)
    if(NOT name IN_LIST arg_ALONE)
      string(MAKE_C_IDENTIFIER "${group}" group)
      set_source_files_properties(${source} TARGET_DIRECTORY ${target} PROPERTIES UNITY_GROUP ${group})
    endif()
  endforeach()
endfunction()

# A package that libweft cannot do without, or where it is to be had.
macro(weft_require package)
  find_package(${package} QUIET)
  if(NOT ${package}_FOUND)
    message(FATAL_ERROR "${package} is missing. On Debian and Ubuntu: scripts/install-deps.sh build, or "
                        "apt-get install g++ cmake ninja-build pkg-config libfmt-dev libcli11-dev nlohmann-json3-dev")
  endif()
endmacro()

find_package(Threads REQUIRED)
weft_require(fmt)

add_library(weft_compile INTERFACE)
target_compile_features(weft_compile INTERFACE cxx_std_20)
target_compile_options(weft_compile INTERFACE -Wall -Wextra -Wconversion -Wno-sign-conversion
                       -Wnon-virtual-dtor -Woverloaded-virtual)
# GCC 12 sees an overlap in std::string's own operator+ when it optimises (GCC bug 105651).
target_compile_options(weft_compile INTERFACE
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<NOT:$<CONFIG:Debug>>>:-Wno-restrict>)
if(WEFT_WERROR)
  target_compile_options(weft_compile INTERFACE -Werror)
endif()
if(WEFT_SANITIZE)
  list(JOIN WEFT_SANITIZE "," sanitize)
  add_compile_options(-fsanitize=${sanitize} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${sanitize})
  if("undefined" IN_LIST WEFT_SANITIZE)
    add_compile_options(-fno-sanitize-recover=undefined)
  endif()
  # A program of the tests is 160 MB here, which lld writes in half of the time.
  find_program(WEFT_LLD ld.lld)
  mark_as_advanced(WEFT_LLD)
  if(WEFT_LLD)
    add_link_options(-fuse-ld=lld)
  endif()
endif()
if(WEFT_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link -g)  # counts coverage; only fuzz_* link the driver
  add_link_options(-fsanitize=fuzzer-no-link)
endif()

# For files that parse arguments: to optimise CLI11 takes most of half a minute each.
set(weft_parses_arguments $<$<CONFIG:Release>:-O1>)

# The objects of libweft: compiled once, linked into libweft and, with internals visible, into the
# tests. The folders src, bootstrap and host add their sources.
add_library(weft_objects OBJECT)
target_link_libraries(weft_objects PRIVATE weft_compile PUBLIC weft_device Threads::Threads
                      PRIVATE fmt::fmt)
target_include_directories(weft_objects PRIVATE ${PROJECT_SOURCE_DIR})

# Headers that nearly every file reads, parsed once: it takes a third off the builds with sanitizers, and off the
# tests. The others do without: they prove that each file includes what it uses, and an optimising GCC 12 warns
# of overflows in precompiled std::string that are none.
target_precompile_headers(weft_objects PRIVATE <fmt/format.h> <algorithm> <atomic> <chrono> <functional>
                          <map> <memory> <mutex> <optional> <span> <string> <thread> <vector>)

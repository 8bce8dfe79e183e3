# Device sources: one file, compiled for every enabled target.
#
#   weft_device_sources(TARGET SOURCES a.cpp b.cpp ...)
#
# adds the sources to TARGET for the CPU target and, where WEFT_CUDA or WEFT_HIP is ON, compiles each
# for that too, into files that nothing links: as C++17, and as C++20 for sm_80, or, for HIP, for gfx90a as far as the
# language reaches. So it is a check that everything compiles. They are built by the
# targets weft_device_cuda and weft_device_hip, which `all` includes.
#
#   weft_cuda_executable(TARGET SOURCES a.cpp ... HOST_SOURCES b.cpp ... LIBRARIES ...)
#
# makes, where WEFT_CUDA is ON, a program whose kernels run on GPUs: nvcc compiles the sources, the
# host compiler the host sources (for the CPU target) and links.
#
#   weft_cuda_objects(TARGET OBJECTS LIBRARIES a.cpp ...)
#
# does the first half of that for other targets: sets the variables OBJECTS and LIBRARIES.
#
#   weft_kernel_sources(TARGET SOURCES a.cpp ...)
#
# adds the sources to TARGET, an OBJECT library, for the CPU target and, where WEFT_CUDA is ON, compiled by nvcc
# too: a target that links TARGET links both. All that a source defines lies in a namespace WEFT_TARGET, so that the
# two do not meet. For HIP it is a check that everything compiles.
#
#   weft_cuda_sources(TARGET SOURCES a.cu ...)
#
# adds, where WEFT_CUDA is ON, sources that only nvcc reads to TARGET, an OBJECT library that weft_kernel_sources
# has made one for GPUs.
#
#   weft_cuda_image(SOURCE VARIABLE)
#
# compiles kernels for every architecture of CMAKE_CUDA_ARCHITECTURES, and as PTX for all others from sm_80
# on, into one file that the driver loads; VARIABLE gets its name.
#
# weft_hip_executable and weft_hip_image do the same with clang where WEFT_HIP is ON, for
# WEFT_HIP_ARCHITECTURES.

# pass-failed: how many waves fit is no question of right and wrong.
set(weft_device_warnings -Wall -Wextra -Werror -Wno-pass-failed)

set(weft_device_include_folders ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/device
    ${PROJECT_BINARY_DIR}/include ${PROJECT_SOURCE_DIR})
list(TRANSFORM weft_device_include_folders PREPEND -I OUTPUT_VARIABLE weft_device_includes)

# Sets weft_rocm_options, with which clang compiles against ROCm's headers and device libraries; nothing
# where either is missing.
function(weft_find_rocm)
  find_path(WEFT_HIP_HEADERS hip/hip_runtime.h HINTS /opt/rocm/include)
  find_path(WEFT_HIP_BITCODE oclc_isa_version_90a.bc
            HINTS /opt/rocm/amdgcn/bitcode /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/amdgcn/bitcode)
  mark_as_advanced(WEFT_HIP_HEADERS WEFT_HIP_BITCODE)
  set(options "")
  if(WEFT_HIP_HEADERS AND WEFT_HIP_BITCODE)
    set(found ${WEFT_HIP_BITCODE})
    # Device libraries older than gfx942 lack its file; the one of gfx940 serves.
    if(NOT EXISTS ${WEFT_HIP_BITCODE}/oclc_isa_version_942.bc)
      set(found ${PROJECT_BINARY_DIR}/hip-bitcode)
      file(MAKE_DIRECTORY ${found})
      file(GLOB files ${WEFT_HIP_BITCODE}/*.bc)
      foreach(file IN LISTS files)
        get_filename_component(name ${file} NAME)
        file(CREATE_LINK ${file} ${found}/${name} SYMBOLIC)
      endforeach()
      file(CREATE_LINK oclc_isa_version_940.bc ${found}/oclc_isa_version_942.bc SYMBOLIC)
    endif()
    get_filename_component(above ${WEFT_HIP_HEADERS} DIRECTORY)
    set(options --rocm-path=${above} --rocm-device-lib-path=${found} -mcode-object-version=5)
  endif()
  set(weft_rocm_options ${options} PARENT_SCOPE)
endfunction()

# Sets WEFT_CUDA, which is ON or AUTO, to ON or OFF, and CMAKE_CUDA_COMPILER.
macro(weft_find_cuda)
  if(NOT CMAKE_CUDA_COMPILER AND DEFINED ENV{CUDACXX})
    set(CMAKE_CUDA_COMPILER $ENV{CUDACXX} CACHE FILEPATH "nvcc")
  endif()
  find_program(CMAKE_CUDA_COMPILER nvcc HINTS ENV CUDA_HOME ENV CUDA_PATH /usr/local/cuda PATH_SUFFIXES bin)
  set(version)
  if(CMAKE_CUDA_COMPILER)
    execute_process(COMMAND ${CMAKE_CUDA_COMPILER} --version OUTPUT_VARIABLE version ERROR_QUIET)
    string(REGEX REPLACE ".*release ([0-9.]+).*" "\\1" version "${version}")
  endif()
  if(version VERSION_GREATER_EQUAL 12.4)
    set(WEFT_CUDA ON)
  elseif(WEFT_CUDA STREQUAL "AUTO")
    message(STATUS "Weft: no nvcc of CUDA 12.4 or later was found, so nothing is compiled for NVIDIA's GPUs")
    set(WEFT_CUDA OFF)
  else()
    message(FATAL_ERROR "WEFT_CUDA=ON needs nvcc of CUDA 12.4 or later; found: ${CMAKE_CUDA_COMPILER} ${version}. "
                        "Install the CUDA toolkit, or set CMAKE_CUDA_COMPILER to the compiler")
  endif()
endmacro()

# Those of this machine's GPUs, with the instructions that only 9.0 has; without a GPU, 9.0's.
function(weft_default_cuda_architectures)
  execute_process(COMMAND nvidia-smi --query-gpu=compute_cap --format=csv,noheader
                  OUTPUT_VARIABLE found ERROR_QUIET RESULT_VARIABLE failed)
  string(REGEX MATCHALL "[0-9]+\\.[0-9]" architectures "${found}")
  if(failed OR NOT architectures)
    set(architectures 9.0)
  endif()
  list(REMOVE_DUPLICATES architectures)
  list(TRANSFORM architectures REPLACE "\\." "")
  list(TRANSFORM architectures REPLACE "^90$" "90a")
  list(TRANSFORM architectures APPEND -real)
  set(CMAKE_CUDA_ARCHITECTURES ${architectures} CACHE STRING
      "GPUs that device sources are compiled for; -real: without PTX for others; empty: this machine's" FORCE)
endfunction()

if(WEFT_CUDA)
  weft_find_cuda()
endif()
if(WEFT_CUDA)
  if(NOT CMAKE_CUDA_ARCHITECTURES)
    weft_default_cuda_architectures()
  endif()
  if(NOT CMAKE_CUDA_ARCHITECTURES MATCHES "^[0-9]+[a-z]?(-real|-virtual)?(;[0-9]+[a-z]?(-real|-virtual)?)*$")
    message(FATAL_ERROR "CMAKE_CUDA_ARCHITECTURES is ${CMAKE_CUDA_ARCHITECTURES}, but must name GPUs, such as 80-real;90a-real")
  endif()
  enable_language(CUDA)
  set(weft_cuda_names ${CMAKE_CUDA_ARCHITECTURES})  # such as 80;90a
  list(TRANSFORM weft_cuda_names REPLACE "-.*" "")
  set(weft_cuda_code)  # for each architecture
  foreach(arch IN LISTS weft_cuda_names)
    list(APPEND weft_cuda_code -gencode=arch=compute_${arch},code=sm_${arch})
  endforeach()
  set(weft_nvcc ${CMAKE_CUDA_COMPILER_LAUNCHER} ${CMAKE_CUDA_COMPILER})  # of what is no object to link
  add_custom_target(weft_device_cuda ALL)
endif()

if(WEFT_HIP)
  find_program(WEFT_HIP_CLANG NAMES clang++-19 clang++-20 clang++-18 clang++-17)
  if(NOT WEFT_HIP_CLANG)
    message(FATAL_ERROR "WEFT_HIP=ON, but no clang++ 17 or later was found: install clang-19, "
                        "libamdhip64-dev and rocm-device-libs, or set WEFT_HIP_CLANG")
  endif()
  weft_find_rocm()
  if(NOT weft_rocm_options)
    message(FATAL_ERROR "WEFT_HIP=ON, but HIP's headers or ROCm's device bitcode were not found: install "
                        "libamdhip64-dev and rocm-device-libs, or set WEFT_HIP_BITCODE to the bitcode's folder")
  endif()
  list(TRANSFORM WEFT_HIP_ARCHITECTURES PREPEND --offload-arch= OUTPUT_VARIABLE weft_hip_code)
  separate_arguments(weft_hip_flags UNIX_COMMAND "${WEFT_HIP_FLAGS}")
  set(weft_hip_command ${CMAKE_CXX_COMPILER_LAUNCHER} ${WEFT_HIP_CLANG} -x hip -std=c++20 ${weft_hip_flags}
      ${weft_device_warnings} ${weft_rocm_options} ${weft_hip_code})
  add_custom_target(weft_device_hip ALL)
endif()

# Compiles a source for GPUs, by `command` but for files, into FOLDER/source.EXTENSION of the build; sets
# `name`, the source's, and `made`, the file's.
macro(weft_gpu_file source folder extension)
  get_filename_component(source_file ${source} ABSOLUTE)
  file(RELATIVE_PATH name ${PROJECT_SOURCE_DIR} ${source_file})
  set(made ${PROJECT_BINARY_DIR}/${folder}/${name}.${extension})
  get_filename_component(made_folder ${made} DIRECTORY)
  file(MAKE_DIRECTORY ${made_folder})
  add_custom_command(OUTPUT ${made}
                     COMMAND ${command} ${weft_device_includes} -MD -MF ${made}.d -MT ${made} ${source_file} -o ${made}
                     DEPENDS ${source_file}
                     DEPFILE ${made}.d
                     COMMENT "Compiling ${name} for GPUs (${extension})"
                     COMMAND_EXPAND_LISTS VERBATIM)
endmacro()

# One object of one source for one GPU target, as one C++ standard, with further options of clang's.
function(weft_device_object platform source standard)
  if(platform STREQUAL cuda)
    set(command ${weft_nvcc} -x cu -std=c++${standard} -Werror all-warnings)
    if(standard EQUAL 17)
      list(APPEND command -c ${weft_cuda_code})
    else()
      list(APPEND command -cubin -arch=sm_80)
    endif()
  else()
    set(command ${CMAKE_CXX_COMPILER_LAUNCHER} ${WEFT_HIP_CLANG} -x hip -std=c++${standard} ${weft_hip_flags} ${weft_device_warnings}
        ${weft_rocm_options} -c)
    if(standard EQUAL 17)
      list(APPEND command ${weft_hip_code} ${ARGN})
    else()
      list(APPEND command --offload-host-only --offload-arch=gfx90a)
    endif()
  endif()
  weft_gpu_file(${source} device-objects ${platform}.${standard}.o)
  string(MAKE_C_IDENTIFIER "${name}_${platform}_${standard}" check)
  add_custom_target(${check} DEPENDS ${made})
  add_dependencies(weft_device_${platform} ${check})
endfunction()

function(weft_device_sources target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES")
  target_sources(${target} PRIVATE ${arg_SOURCES})
  foreach(source IN LISTS arg_SOURCES)
    get_filename_component(source ${source} ABSOLUTE)
    foreach(standard IN ITEMS 17 20)
      if(WEFT_CUDA)
        weft_device_object(cuda ${source} ${standard})
      endif()
      if(WEFT_HIP)
        weft_device_object(hip ${source} ${standard} --offload-arch=gfx90a)
      endif()
    endforeach()
  endforeach()
endfunction()

# A target without dependencies, in which what the executable waits for (libweft and its images) is not
# waited for to compile its objects.
function(weft_compile_early target)
  add_custom_target(${target}_kernels DEPENDS ${ARGN})
endfunction()

# weft_cuda_library(NAME STANDARD a.cpp ...): an OBJECT library of sources as CUDA, of a C++ standard. It links to nothing,
# so its objects are compiled before what the program links is there.
function(weft_cuda_library name standard)
  # CMake 3.25 knows no standard beyond 17; without one, and with the compiler's extensions, it adds none.
  unset(CMAKE_CUDA_STANDARD)
  set(CMAKE_CUDA_EXTENSIONS ON)
  set(weft_cuda_target ${name})
  set(weft_cuda_sources ${ARGN})
  list(TRANSFORM weft_cuda_sources PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  add_subdirectory(${PROJECT_SOURCE_DIR}/cmake/cuda ${CMAKE_CURRENT_BINARY_DIR}/${name})
  target_include_directories(${name} PRIVATE ${weft_device_include_folders})
  # Threads that are PEs must not meet in one default stream. The library takes no more than a stream from its caller;
  # a null stream is the calling thread's own.
  target_compile_options(${name} PRIVATE -std=c++${standard} -Werror all-warnings --default-stream per-thread)
  # fmt 9 checks formats by it, yet takes nvcc for a compiler without.
  target_compile_definitions(${name} PRIVATE FMT_USE_CONSTEXPR=1)
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON CUDA_VISIBILITY_PRESET hidden UNITY_BUILD OFF)
endfunction()

macro(weft_find_cudart)
  get_filename_component(toolkit ${CMAKE_CUDA_COMPILER} DIRECTORY)
  find_library(WEFT_CUDART cudart_static HINTS ${toolkit}/../lib64 REQUIRED)
endmacro()

function(weft_kernel_sources target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES")
  target_sources(${target} PRIVATE ${arg_SOURCES})
  if(WEFT_HIP)
    foreach(source IN LISTS arg_SOURCES)
      get_filename_component(source ${source} ABSOLUTE)
      weft_device_object(hip ${source} 17 --offload-device-only --gpu-bundle-output)
    endforeach()
  endif()
  if(WEFT_CUDA)
    weft_find_cudart()
    weft_cuda_library(${target}_cuda 17 ${arg_SOURCES})
    target_sources(${target} INTERFACE "$<BUILD_INTERFACE:$<TARGET_OBJECTS:${target}_cuda>>")
    target_link_libraries(${target} PUBLIC ${WEFT_CUDART} ${CMAKE_DL_LIBS} rt)
    target_compile_definitions(${target} PRIVATE WEFT_HAS_CUDA_KERNELS=1)
  endif()
endfunction()

function(weft_cuda_sources target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES")
  if(NOT WEFT_CUDA)
    return()
  endif()
  weft_cuda_library(${target}_cuda_only 20 ${arg_SOURCES})
  target_compile_definitions(${target}_cuda_only PRIVATE "WEFT_HAS_SM90A=$<IN_LIST:90a,${weft_cuda_names}>")
  # A product whose sums do not stay in registers is right, and slow.
  target_compile_options(${target}_cuda_only PRIVATE -Xptxas -warn-spills,-Werror)
  target_sources(${target} INTERFACE "$<BUILD_INTERFACE:$<TARGET_OBJECTS:${target}_cuda_only>>")
endfunction()

function(weft_cuda_objects target objects_variable libraries_variable)
  weft_cuda_library(${target}_kernels 20 ${ARGN})
  target_compile_options(${target}_kernels PRIVATE --extended-lambda)
  weft_find_cudart()
  set(${objects_variable} $<TARGET_OBJECTS:${target}_kernels> PARENT_SCOPE)
  set(${libraries_variable} ${WEFT_CUDART} ${CMAKE_DL_LIBS} rt PARENT_SCOPE)
endfunction()

function(weft_cuda_executable target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;HOST_SOURCES;LIBRARIES")
  weft_cuda_objects(${target} objects libraries ${arg_SOURCES})
  add_executable(${target} ${objects} ${arg_HOST_SOURCES})
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX)
  target_link_libraries(${target} PRIVATE ${arg_LIBRARIES} ${libraries})
endfunction()

function(weft_cuda_image source variable)
  set(command ${CMAKE_CUDA_COMPILER} -x cu -std=c++20 -O2 -Werror all-warnings -fatbin ${weft_cuda_code}
      -gencode=arch=compute_80,code=compute_80)
  weft_gpu_file(${source} device-objects fatbin)
  set(${variable} ${made} PARENT_SCOPE)
endfunction()

function(weft_hip_executable target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;HOST_SOURCES;LIBRARIES")
  # Threads that are PEs must not meet in one default stream. Each object links by itself (no -fgpu-rdc), so the
  # host's linker does.
  set(command ${weft_hip_command} -fgpu-default-stream=per-thread -fPIE -c)
  set(objects)
  foreach(source IN LISTS arg_SOURCES)
    weft_gpu_file(${source} hip-objects/${target} o)
    list(APPEND objects ${made})
  endforeach()
  weft_compile_early(${target} ${objects})
  find_library(WEFT_AMDHIP amdhip64 HINTS /opt/rocm/lib REQUIRED)
  add_executable(${target} ${objects} ${arg_HOST_SOURCES})
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX)
  target_link_libraries(${target} PRIVATE ${arg_LIBRARIES} ${WEFT_AMDHIP} ${CMAKE_DL_LIBS} rt)
endfunction()

function(weft_hip_image source variable)
  set(command ${weft_hip_command} --offload-device-only --gpu-bundle-output -c)
  weft_gpu_file(${source} device-objects hipfb)
  set(${variable} ${made} PARENT_SCOPE)
endfunction()

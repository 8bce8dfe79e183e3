# A prefix that looks as NVSHMEM's: what a program takes as NVSHMEM_HOME. One in the build folder, made of links, and one
# to install, in share/weft/nvshmem. Kernels find everything in the headers, so libnvshmem_device.a has nothing in it.
if(NOT BUILD_SHARED_LIBS)
  return()  # programs link -lnvshmem_host and nothing of Weft
endif()
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(nvshmem_prefix ${PROJECT_BINARY_DIR}/nvshmem)
set(nvshmem_installed ${CMAKE_INSTALL_DATADIR}/weft/nvshmem)

# --- headers: NVSHMEM's names for Weft's -----------------------------------------------------------
# nvshmem_header(NAME HEADER); the tests compile every NAME.
function(nvshmem_header name header)
  set_property(GLOBAL APPEND PROPERTY WEFT_NVSHMEM_HEADERS ${name})
  file(CONFIGURE OUTPUT ${nvshmem_prefix}/include/${name} CONTENT "#include <weft-compat/${header}>\n")
endfunction()
foreach(name IN ITEMS nvshmem.h nvshmemx.h nvshmem_host.h)
  nvshmem_header(${name} ${name})
endforeach()
foreach(name IN ITEMS host/nvshmem_api.h host/nvshmemx_api.h host/nvshmem_coll_api.h host/nvshmemx_coll_api.h
                      device_host/nvshmem_common.cuh)
  nvshmem_header(${name} nvshmem_host.h)
endforeach()
foreach(name IN ITEMS device/nvshmem_defines.h device/nvshmem_coll_defines.cuh)
  nvshmem_header(${name} nvshmem.h)
endforeach()
foreach(name IN ITEMS device/nvshmemx_defines.h device/nvshmemx_coll_defines.cuh
                      device/nvshmemx_collective_launch_apis.h device/tile/nvshmemx_tile_api.hpp
                      device/tile/nvshmemx_tile_api_defines.cuh)
  nvshmem_header(${name} nvshmemx.h)
endforeach()
foreach(name IN ITEMS bootstrap_device_host/nvshmem_uniqueid.h device_host/nvshmem_types.h
                      device_host_transport/nvshmem_common_transport.h device_host_transport/nvshmem_constants.h
                      non_abi/nvshmem_version.h)
  nvshmem_header(${name} nvshmem/types.h)
endforeach()
nvshmem_header(device_host/nvshmem_tensor.h nvshmem/tensor.hpp)
nvshmem_header(host/nvshmem_macros.h nvshmem/macros.h)
nvshmem_header(non_abi/nvshmem_build_options.h nvshmem/build_options.h)
nvshmem_header(non_abi/nvshmemx_error.h nvshmem/error.h)
install(DIRECTORY ${nvshmem_prefix}/include DESTINATION ${nvshmem_installed} PATTERN weft EXCLUDE
        PATTERN weft-compat EXCLUDE)

# --- libraries -------------------------------------------------------------------------------------
set_target_properties(weft_nvshmem_device PROPERTIES OUTPUT_NAME nvshmem_device
                      ARCHIVE_OUTPUT_DIRECTORY ${nvshmem_prefix}/lib)
install(TARGETS weft_nvshmem_device ARCHIVE DESTINATION ${nvshmem_installed}/lib)

# -lnvshmem is both libraries; the linker finds them beside the script.
file(CONFIGURE OUTPUT ${nvshmem_prefix}/lib/libnvshmem.so CONTENT "GROUP ( libnvshmem_host.so libnvshmem_device.a )\n")
install(FILES ${nvshmem_prefix}/lib/libnvshmem.so DESTINATION ${nvshmem_installed}/lib)

configure_file(${PROJECT_SOURCE_DIR}/cmake/NVSHMEMConfig.cmake.in
               ${nvshmem_prefix}/lib/cmake/nvshmem/NVSHMEMConfig.cmake @ONLY)
# NVSHMEM's own, as types.h has it.
write_basic_package_version_file(${nvshmem_prefix}/lib/cmake/nvshmem/NVSHMEMConfigVersion.cmake VERSION 3.4.5
                                 COMPATIBILITY SameMajorVersion ARCH_INDEPENDENT)
install(DIRECTORY ${nvshmem_prefix}/lib/cmake DESTINATION ${nvshmem_installed}/lib)

# --- links -----------------------------------------------------------------------------------------
# In the build folder to what is there, once and for all; the libraries may be built later.
function(nvshmem_link target link)
  get_filename_component(folder ${link} DIRECTORY)
  file(MAKE_DIRECTORY ${folder})
  file(CREATE_LINK ${target} ${link} SYMBOLIC)
endfunction()
file(GLOB public CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/weft/* ${PROJECT_SOURCE_DIR}/device/weft/*)
foreach(path IN LISTS public)
  get_filename_component(name ${path} NAME)
  nvshmem_link(${path} ${nvshmem_prefix}/include/weft/${name})
endforeach()
nvshmem_link(${weft_compat_includes} ${nvshmem_prefix}/include/weft-compat)
nvshmem_link(${PROJECT_BINARY_DIR}/include/weft/version.hpp ${nvshmem_prefix}/include/weft/version.hpp)

# LINK=TARGET for each library that the linker and the loader look for.
set(soversion ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
set(nvshmem_libraries libweft.so=libweft.so libweft.so.${soversion}=libweft.so.${soversion}
    libweft_nvshmem.so.${soversion}=libweft_nvshmem.so.${soversion} libnvshmem_host.so=libweft_nvshmem.so
    libnvshmem_host.so.3=libweft_nvshmem.so)
file(RELATIVE_PATH to_libraries /${nvshmem_installed}/lib /${CMAKE_INSTALL_LIBDIR})
file(RELATIVE_PATH to_weft /${nvshmem_installed}/include /${CMAKE_INSTALL_INCLUDEDIR}/weft)
file(RELATIVE_PATH to_compat /${nvshmem_installed}/include /${weft_compat_installed})
set(links "${to_weft} ${nvshmem_installed}/include/weft" "${to_compat} ${nvshmem_installed}/include/weft-compat")
foreach(pair IN LISTS nvshmem_libraries)
  string(REPLACE "=" ";" pair ${pair})
  list(GET pair 0 link)
  list(GET pair 1 target)
  nvshmem_link(${PROJECT_BINARY_DIR}/lib/${target} ${nvshmem_prefix}/lib/${link})
  list(APPEND links "${to_libraries}/${target} ${nvshmem_installed}/lib/${link}")
endforeach()
foreach(each IN LISTS links)
  string(REPLACE " " ";" each ${each})
  list(GET each 0 target)
  list(GET each 1 link)
  install(CODE "file(CREATE_LINK \"${target}\" \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${link}\" SYMBOLIC)")
endforeach()

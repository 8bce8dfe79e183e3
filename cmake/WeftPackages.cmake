# Packages that cpack makes of a build folder: a tar with all of it, which works wherever it is unpacked, and two Debian packages,
# weft to run programs and weft-dev to build them.
#   cd build/cpu-release && cpack -G "TGZ;DEB"
set(CPACK_PACKAGE_NAME weft)
set(CPACK_PACKAGE_VENDOR Weft)
set(CPACK_PACKAGE_CONTACT "The Weft developers")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGE_FILE_NAME weft-${PROJECT_VERSION}-${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_GENERATOR TGZ DEB)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_COMPONENTS_ALL weft_runtime weft_development)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
set(CPACK_DEBIAN_WEFT_RUNTIME_PACKAGE_NAME weft)
set(CPACK_DEBIAN_WEFT_RUNTIME_PACKAGE_SECTION libs)
# The transports look for these libraries at run time.
set(CPACK_DEBIAN_WEFT_RUNTIME_PACKAGE_SUGGESTS "libibverbs1, libfabric1")
set(CPACK_COMPONENT_WEFT_RUNTIME_DESCRIPTION "${PROJECT_DESCRIPTION}
 Libraries, and the programs weft-run and weft-info.")
set(CPACK_DEBIAN_WEFT_DEVELOPMENT_PACKAGE_NAME weft-dev)
set(CPACK_DEBIAN_WEFT_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_WEFT_DEVELOPMENT_PACKAGE_DEPENDS "weft (= ${PROJECT_VERSION})")
if(NOT BUILD_SHARED_LIBS)
  string(APPEND CPACK_DEBIAN_WEFT_DEVELOPMENT_PACKAGE_DEPENDS ", libfmt-dev")
endif()
set(CPACK_COMPONENT_WEFT_DEVELOPMENT_DESCRIPTION "${PROJECT_DESCRIPTION}, to build programs
 Headers, the files of find_package and pkg-config, weft-cc and weft-c++, and names for the linker.")
include(CPack)

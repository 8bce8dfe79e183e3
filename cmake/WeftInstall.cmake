# Install, find_package(weft) and pkg-config. All installed files belong to the component weft_runtime, what a program needs
# to run, or else weft_development, which the top folder makes the default.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set_target_properties(weft PROPERTIES EXPORT_NAME weft)
set_target_properties(weft_device PROPERTIES EXPORT_NAME device)
set_target_properties(weft_kernels PROPERTIES EXPORT_NAME kernels)
set_target_properties(weft_shmem PROPERTIES EXPORT_NAME shmem)
set_target_properties(weft_nvshmem PROPERTIES EXPORT_NAME nvshmem)

# One run path, in the build folder and where it is installed: CMake would replace one by the other in the file, and
# fills up the first with colons, each of which is the folder in which a program is started.
function(weft_run_path target)
  set_target_properties(${target} PROPERTIES BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH_USE_LINK_PATH ON
                        INSTALL_RPATH "${ARGN}")
endfunction()
foreach(library IN ITEMS weft weft_kernels weft_shmem weft_nvshmem)
  weft_run_path(${library} "$ORIGIN")
endforeach()
set(weft_program_path "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}" "$ORIGIN/../lib")  # the second is the build folder's
list(REMOVE_DUPLICATES weft_program_path)

# A static libweft carries its private dependencies to whoever links it; a shared one does not.
set(weft_exported weft weft_device weft_kernels weft_shmem weft_nvshmem)
if(NOT BUILD_SHARED_LIBS)
  list(APPEND weft_exported weft_objects weft_kernels_objects weft_compile)
endif()
set(weft_programs "")
foreach(program IN ITEMS weft-run weft-info weft-perf weft-tune)
  if(TARGET ${program})
    list(APPEND weft_programs ${program})
    weft_run_path(${program} ${weft_program_path})
  endif()
endforeach()
# weft-perf opens them from there.
set(weft_modules "")
foreach(module IN ITEMS weft_perf_cuda weft_perf_kernels)
  if(TARGET ${module})
    list(APPEND weft_modules ${module})
    weft_run_path(${module} "$ORIGIN/..")
  endif()
endforeach()
if(NOT WEFT_INSTALL)
  return()
endif()

install(TARGETS ${weft_exported} EXPORT weft-targets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT weft_runtime NAMELINK_COMPONENT weft_development
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS ${weft_programs} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT weft_runtime)
install(TARGETS ${weft_modules} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/weft COMPONENT weft_runtime)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/weft RENAME copyright
        COMPONENT weft_runtime)
install(DIRECTORY ${weft_compat_includes}/ DESTINATION ${weft_compat_installed}
        FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h")
get_property(weft_bitcode_files GLOBAL PROPERTY WEFT_BITCODE_FILES)
install(FILES ${weft_bitcode_files} DESTINATION ${CMAKE_INSTALL_LIBDIR}/weft)

set(weft_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/weft)
install(EXPORT weft-targets NAMESPACE weft:: DESTINATION ${weft_cmake_dir})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/weft-config.cmake.in
                              ${PROJECT_BINARY_DIR}/weft-config.cmake
                              INSTALL_DESTINATION ${weft_cmake_dir}
                              PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR)
# Before 1.0 a minor release may break the interface.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/weft-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/weft-config.cmake ${PROJECT_BINARY_DIR}/weft-config-version.cmake
        DESTINATION ${weft_cmake_dir})

if(BUILD_SHARED_LIBS)
  set(weft_pc_requires_private "")
else()
  set(weft_pc_requires_private "fmt")
endif()
# Relative to the .pc file, so that another --prefix, or a tree that is moved, needs no other file.
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
  set(weft_pc_prefix "${CMAKE_INSTALL_PREFIX}")
else()
  file(RELATIVE_PATH weft_pc_prefix "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
  string(REGEX REPLACE "/$" "" weft_pc_prefix "\${pcfiledir}/${weft_pc_prefix}")
endif()
foreach(package IN ITEMS weft weft_kernels weft_shmem weft_nvshmem)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/${package}.pc.in ${PROJECT_BINARY_DIR}/${package}.pc
                 @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${package}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()

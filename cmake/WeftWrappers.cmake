# weft-cc and weft-c++: compilers that know where Weft's headers and libraries are; one for this build, one to install.
# In shmem-bin, in the build folder and installed in lib/weft, OpenSHMEM's names for them and for weft-run, for those who
# put it on PATH. There is no oshfort: OpenSHMEM 1.5 has no Fortran interface.

# The libraries that a program links: as needed, as one of OpenSHMEM does not use the operators.
if(BUILD_SHARED_LIBS)
  set(weft_link_words "-Wl,--push-state,--as-needed -lweft_shmem -lweft_kernels -lweft -Wl,--pop-state")
else()
  set(weft_link_words "-lweft_shmem -lweft_kernels -lweft -lfmt -lstdc++ -lm -ldl -pthread")
endif()

# shmem_name(NAME PROGRAM): a link in shmem-bin to a program of bin.
set(weft_shmem_bin ${CMAKE_INSTALL_LIBDIR}/weft/shmem-bin)
file(RELATIVE_PATH weft_bin_from_shmem_bin /${weft_shmem_bin} /${CMAKE_INSTALL_BINDIR})
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/shmem-bin)
function(shmem_name name program)
  file(CREATE_LINK ../bin/${program} ${PROJECT_BINARY_DIR}/shmem-bin/${name} SYMBOLIC)
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/install/shmem-bin)
  file(CREATE_LINK ${weft_bin_from_shmem_bin}/${program} ${PROJECT_BINARY_DIR}/install/shmem-bin/${name} SYMBOLIC)
  install(FILES ${PROJECT_BINARY_DIR}/install/shmem-bin/${name} DESTINATION ${weft_shmem_bin})
endfunction()

# weft_wrapper(NAME LANGUAGE VARIABLE CMAKE_LANGUAGE SUFFIX COMPILERS...)
function(weft_wrapper wrapper language variable cmake_language suffix)
  list(JOIN ARGN " " compilers)
  set(root "$(dirname \"$here\")")
  string(CONCAT include_words "\"-I${weft_compat_includes}\" \"-I${PROJECT_SOURCE_DIR}/include\" "
         "\"-I${PROJECT_SOURCE_DIR}/device\" \"-I${PROJECT_BINARY_DIR}/include\"")
  set(library_folder "$root/lib")
  set(library_mend "make it by: cmake --build $root --target weft_shmem weft_kernels")
  set(library_words "\"-L$root/lib\" ${weft_link_words} \"-Wl,-rpath,$root/lib\"")
  set(mode OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/weft-cc.in ${PROJECT_BINARY_DIR}/bin/${wrapper} @ONLY
                 FILE_PERMISSIONS ${mode})

  file(RELATIVE_PATH up "/${CMAKE_INSTALL_BINDIR}" "/")
  set(root "$(cd \"$here/${up}\" && pwd)")
  set(include_words "\"-I$root/${weft_compat_installed}\" \"-I$root/${CMAKE_INSTALL_INCLUDEDIR}\"")
  set(library_folder "$root/${CMAKE_INSTALL_LIBDIR}")
  set(library_mend "install Weft again, with its component weft_runtime")
  set(library_words "\"-L$root/${CMAKE_INSTALL_LIBDIR}\" ${weft_link_words} \"-Wl,-rpath,$root/${CMAKE_INSTALL_LIBDIR}\"")
  configure_file(${PROJECT_SOURCE_DIR}/cmake/weft-cc.in ${PROJECT_BINARY_DIR}/install/${wrapper} @ONLY)
  install(PROGRAMS ${PROJECT_BINARY_DIR}/install/${wrapper} DESTINATION ${CMAKE_INSTALL_BINDIR})
endfunction()

weft_wrapper(weft-cc C CC C c cc gcc clang)
weft_wrapper(weft-c++ C++ CXX CXX cpp c++ g++ clang++)
shmem_name(oshcc weft-cc)
shmem_name(oshc++ weft-c++)
shmem_name(oshrun weft-run)

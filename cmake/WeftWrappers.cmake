# weft-cc and weft-c++: compilers that know where shmem.h and libweft_shmem are; one for this build, one to install.

# weft_wrapper(NAME LANGUAGE VARIABLE COMPILER SUFFIX)
function(weft_wrapper wrapper language variable compiler suffix)
  set(libraries "")
  if(NOT BUILD_SHARED_LIBS)
    set(libraries " -lweft -lfmt -lstdc++ -lm -ldl -pthread")
  endif()

  set(root "${PROJECT_BINARY_DIR}")
  set(include_words "\"-I${PROJECT_SOURCE_DIR}/include/weft/compat\" \"-I${PROJECT_SOURCE_DIR}/include\" \"-I${PROJECT_BINARY_DIR}/include\"")
  set(library_words "\"-L$root/lib\" -lweft_shmem${libraries} \"-Wl,-rpath,$root/lib\"")
  set(mode OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/weft-cc.in ${PROJECT_BINARY_DIR}/bin/${wrapper} @ONLY
                 FILE_PERMISSIONS ${mode})

  file(RELATIVE_PATH up "/${CMAKE_INSTALL_BINDIR}" "/")
  set(root "$(cd \"$here/${up}\" && pwd)")
  set(include_words "\"-I$root/${CMAKE_INSTALL_INCLUDEDIR}/weft/compat\" \"-I$root/${CMAKE_INSTALL_INCLUDEDIR}\"")
  set(library_words "\"-L$root/${CMAKE_INSTALL_LIBDIR}\" -lweft_shmem${libraries} \"-Wl,-rpath,$root/${CMAKE_INSTALL_LIBDIR}\"")
  configure_file(${PROJECT_SOURCE_DIR}/cmake/weft-cc.in ${PROJECT_BINARY_DIR}/install/${wrapper} @ONLY)
  install(PROGRAMS ${PROJECT_BINARY_DIR}/install/${wrapper} DESTINATION ${CMAKE_INSTALL_BINDIR})
endfunction()

weft_wrapper(weft-cc C CC cc c)
weft_wrapper(weft-c++ C++ CXX c++ cpp)

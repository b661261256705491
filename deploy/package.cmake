# What is handed out. In the build directory `bundle` makes
# hookline-<version>-<arch>.tar.gz, `image` hookline-<version>-<arch>.image.tar, `package` all of it (deploy/packages.md).
add_executable(hookline-launcher EXCLUDE_FROM_ALL deploy/bundle/launcher.c)
target_include_directories(hookline-launcher PRIVATE ${CMAKE_SOURCE_DIR}/proxy)
target_compile_definitions(hookline-launcher PRIVATE _GNU_SOURCE)
target_compile_options(hookline-launcher PRIVATE -Os -Wall -Wextra -Wshadow -Wpedantic -Werror)
target_link_options(hookline-launcher PRIVATE -static)
set_target_properties(hookline-launcher PROPERTIES POSITION_INDEPENDENT_CODE OFF INTERPROCEDURAL_OPTIMIZATION OFF)

string(REGEX REPLACE "^(x86_64|AMD64)$" "amd64" HOOKLINE_ARCH "${CMAKE_SYSTEM_PROCESSOR}")
string(REGEX REPLACE "^aarch64$" "arm64" HOOKLINE_ARCH "${HOOKLINE_ARCH}")
set(HOOKLINE_SYSROOT "" CACHE PATH "where the bundle's libraries are taken from: a folder that holds another system's lib and usr")
find_program(HOOKLINE_READELF NAMES readelf REQUIRED DOC "shows what a program needs, whatever it was built for")
add_custom_target(bundle
  COMMAND ${CMAKE_COMMAND} -E env READELF=${HOOKLINE_READELF} SYSROOT=${HOOKLINE_SYSROOT} CMAKE=${CMAKE_COMMAND} STRIP=${CMAKE_STRIP}
    ${CMAKE_SOURCE_DIR}/deploy/bundle/bundle.sh ${CMAKE_BINARY_DIR} $<TARGET_FILE:hookline-launcher>
    hookline-${PROJECT_VERSION}-${HOOKLINE_ARCH} ${CMAKE_LIBRARY_ARCHITECTURE}
  USES_TERMINAL VERBATIM)
foreach(part hookline hookline-function hookline_python hookline_python_modules hookline_manual hookline-launcher)
  if(TARGET ${part})
    add_dependencies(bundle ${part})
  endif()
endforeach()
# The image of that bundle, without a container engine.
set(name hookline-${PROJECT_VERSION}-${HOOKLINE_ARCH})
add_custom_target(image
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${CMAKE_BINARY_DIR}/image-root
  COMMAND ${CMAKE_SOURCE_DIR}/deploy/bundle/root.sh ${CMAKE_BINARY_DIR}/${name} ${CMAKE_BINARY_DIR}/image-root
  COMMAND ${CMAKE_SOURCE_DIR}/deploy/bundle/image.py ${CMAKE_BINARY_DIR}/image-root ${HOOKLINE_ARCH}
    ${CMAKE_BINARY_DIR}/${name}.image.tar
  DEPENDS bundle USES_TERMINAL VERBATIM)
add_dependencies(image bundle)
if(NOT TARGET package)
  add_custom_target(package)
endif()
add_dependencies(package bundle image)

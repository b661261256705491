# What Debian wants otherwise than `cmake --install` leaves it; CPack runs this between installing and packing.
# The time of all that is made here is SOURCE_DATE_EPOCH, where that is set: the same sources give the same package.
set(usr ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/usr)
set(doc ${usr}/share/doc/hookline)

string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
file(WRITE ${doc}/changelog "hookline (${CPACK_PACKAGE_VERSION}) stable; urgency=medium

  * Release ${CPACK_PACKAGE_VERSION}.

 -- ${CPACK_DEBIAN_PACKAGE_MAINTAINER}  ${date}
")
file(REMOVE ${doc}/LICENSE) # /usr/share/common-licenses has it
execute_process(COMMAND gzip -9nf ${doc}/changelog ${usr}/share/man/man1/hookline.1 COMMAND_ERROR_IS_FATAL ANY)

# A wheel is for other machines than one that has the package.
file(GLOB wheels ${usr}/lib/hookline/*.whl)
if(wheels)
  file(REMOVE ${wheels})
endif()

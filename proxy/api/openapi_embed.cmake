# openapi_embed.cmake - turns openapi.json into a C file, at build time, with CMake alone.
#
#   cmake -DOUT=<file.c> -DFILE=<openapi.json> -P openapi_embed.cmake
file(SHA256 ${FILE} etag)
string(SUBSTRING ${etag} 0 16 etag)
file(READ ${FILE} bytes HEX)
string(REGEX REPLACE "(................................)" "\\1\n" bytes "${bytes}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
file(WRITE ${OUT}
  "/* Made by openapi_embed.cmake. */\n#include \"route/description.h\"\n\n"
  "static const unsigned char bytes[] = {\n${bytes}};\n"
  "const struct hl_description hl_description = {bytes, sizeof(bytes), \"\\\"${etag}\\\"\", "
  "\"ETag: \\\"${etag}\\\"\\r\\n\"};\n")

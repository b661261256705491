# embed.cmake - turns the dashboard's files into a C file, at build time, with CMake alone.
#
#   cmake -DOUT=<file.c> -DFILES=<a;b;…> -P embed.cmake
#
# All files but index.html are served below a directory that is named by a hash over all of them, so that browsers may
# keep them for good and a module finds its neighbours by their plain names. In index.html, @ASSETS@ becomes the path of
# that directory; the page itself is asked for each time.
set(types_html "text/html; charset=utf-8")
set(types_css "text/css; charset=utf-8")
set(types_js "text/javascript; charset=utf-8")
set(types_svg "image/svg+xml")

set(hashes "")
foreach(file IN LISTS FILES)
  file(SHA256 ${file} hash)
  get_filename_component(name ${file} NAME)
  string(APPEND hashes "${name} ${hash}\n")
endforeach()
string(SHA256 directory_hash "${hashes}")
string(SUBSTRING ${directory_hash} 0 12 directory_hash)

set(arrays "")
set(table "")
set(count 0)
foreach(file IN LISTS FILES)
  get_filename_component(name ${file} NAME)
  get_filename_component(extension ${file} LAST_EXT)
  string(SUBSTRING ${extension} 1 -1 extension)
  if(NOT types_${extension})
    message(FATAL_ERROR "${file}: what is its Content-Type?")
  endif()
  if(name STREQUAL "index.html")
    file(READ ${file} text)
    string(REPLACE "@ASSETS@" "dashboard/${directory_hash}" text "${text}")
    string(SHA256 etag "${text}")
    string(HEX "${text}" bytes)
    set(path "/")
    set(is_immutable false)
  else()
    file(SHA256 ${file} etag)
    file(READ ${file} bytes HEX)
    set(path "/dashboard/${directory_hash}/${name}")
    set(is_immutable true)
  endif()
  string(SUBSTRING ${etag} 0 16 etag)
  string(REGEX REPLACE "(................................)" "\\1\n" bytes "${bytes}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
  string(APPEND arrays "static const unsigned char bytes_${count}[] = { /* ${name} */\n${bytes}};\n")
  string(APPEND table
    "    {\"${path}\", \"${types_${extension}}\", \"\\\"${etag}\\\"\", ${is_immutable}, bytes_${count}, "
    "sizeof(bytes_${count})},\n")
  math(EXPR count "${count} + 1")
endforeach()

file(WRITE ${OUT}
  "/* Made by embed.cmake. */\n#include \"api/asset.h\"\n\n${arrays}\n"
  "const struct hl_asset hl_assets[] = {\n${table}};\nconst size_t hl_asset_count = ${count};\n")

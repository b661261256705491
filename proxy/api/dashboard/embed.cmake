# embed.cmake - turns the dashboard's files into a C file, at build time, with CMake alone.
#
#   cmake -DOUT=<file.c> -DFILES=<a;b;…> -P embed.cmake
#
# All files but index.html are served below a directory that is named by a hash over all of them, so that browsers may
# keep them for good and a module finds its neighbours by their plain names. In index.html, @ASSETS@ becomes the path of
# that directory; the page itself is asked for each time. Scripts and sheets go without their indentation and without
# comments, which is a fifth of their compressed bytes. Each file is there twice: plain, and compressed.
set(types_html "text/html; charset=utf-8")
set(types_css "text/css")
set(types_js "text/javascript")
set(types_svg "image/svg+xml")

set(hashes "")
foreach(file IN LISTS FILES)
  file(SHA256 ${file} hash)
  get_filename_component(name ${file} NAME)
  string(APPEND hashes "${name} ${hash}\n")
endforeach()
string(SHA256 directory_hash "${hashes}")
string(SUBSTRING ${directory_hash} 0 12 directory_hash)

# A line begins in code: no text goes over the end of one, which is made sure of.
function(read_lean file out)
  file(READ ${file} text)
  string(REGEX REPLACE "`[^`\n]*`" "" rest "${text}")
  if(rest MATCHES "`")
    message(FATAL_ERROR "${file}: a template that goes over lines would lose its indentation")
  endif()
  string(REGEX REPLACE "\n[ \t]+" "\n" text "\n${text}")
  string(REGEX REPLACE "\n/[*][^*]*[*]+([^/*][^*]*[*]+)*/" "\n" text "${text}")
  string(REGEX REPLACE "\n//[^\n]*" "" text "${text}")
  # Behind code: what has no quote up to the line's end stands in no text.
  string(REGEX REPLACE "([,;{}(]) +//[^'\"`\n]*\n" "\\1\n" text "${text}")
  string(REGEX REPLACE "([,;{}(]) +/[*][^*'\"`\n]*[*]/\n" "\\1\n" text "${text}")
  string(REGEX REPLACE "\n[ \n]*\n" "\n" text "${text}")
  string(REGEX REPLACE "^\n+" "" text "${text}")
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

# Bytes in hex as the elements of an array.
function(list_bytes hex out)
  string(REGEX REPLACE "(................................)" "\\1\n" bytes "${hex}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
  set(${out} "${bytes}" PARENT_SCOPE)
endfunction()

# Without the time of day, which its head has in bytes 4 to 7: a build gives the same bytes again.
function(read_compressed file out)
  file(ARCHIVE_CREATE OUTPUT ${OUT}.gz PATHS ${file} FORMAT raw COMPRESSION GZip COMPRESSION_LEVEL 9)
  file(READ ${OUT}.gz hex HEX)
  string(SUBSTRING ${hex} 0 8 magic)
  string(SUBSTRING ${hex} 16 -1 rest)
  set(${out} "${magic}00000000${rest}" PARENT_SCOPE)
endfunction()

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
    set(file ${OUT}.html)
    file(WRITE ${file} "${text}")
    set(path "/")
    set(is_immutable false)
  else()
    set(path "/dashboard/${directory_hash}/${name}")
    set(is_immutable true)
    if(extension MATCHES "js|css")
      read_lean(${file} text)
      set(file ${OUT}.lean)
      file(WRITE ${file} "${text}")
    endif()
  endif()
  file(SHA256 ${file} etag)
  string(SUBSTRING ${etag} 0 16 etag)
  file(READ ${file} bytes HEX)
  list_bytes("${bytes}" bytes)
  read_compressed(${file} gzip)
  list_bytes("${gzip}" gzip)
  string(APPEND arrays "static const unsigned char bytes_${count}[] = { /* ${name} */\n${bytes}};\n"
    "static const unsigned char gzip_${count}[] = {\n${gzip}};\n")
  string(APPEND table
    "    {\"${path}\", \"${types_${extension}}\", \"\\\"${etag}\\\"\", ${is_immutable}, bytes_${count}, gzip_${count}, "
    "sizeof(bytes_${count}), sizeof(gzip_${count})},\n")
  math(EXPR count "${count} + 1")
endforeach()

file(WRITE ${OUT}
  "/* Made by embed.cmake. */\n#include \"api/asset.h\"\n\n${arrays}\n"
  "const struct hl_asset hl_assets[] = {\n${table}};\nconst size_t hl_asset_count = ${count};\n")

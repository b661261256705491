# For a build for arm64 on an amd64 machine: -DCMAKE_TOOLCHAIN_FILE=deploy/arm64.cmake. Debian's packages it needs are
# crossbuild-essential-arm64, the libraries' as `libuv1-dev:arm64` and so on (dpkg --add-architecture arm64), and
# qemu-user-static to run what was built: the program writes its own manual page. Have them in a root of their own: some take the place of the machine's.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(ENV{PKG_CONFIG_LIBDIR} /usr/lib/aarch64-linux-gnu/pkgconfig:/usr/share/pkgconfig)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static)

# hookline as an image: built in one stage, run in another that holds only the program and the libraries it loads.
# deploy/check-image.sh runs these same lines where there is no container engine.
FROM debian:bookworm-slim AS build
RUN apt-get update \
    && apt-get install -y --no-install-recommends gcc libc6-dev cmake ninja-build pkg-config \
        libuv1-dev libcurl4-openssl-dev libc-ares-dev libpsl-dev libmbedtls-dev libsqlite3-dev libpq-dev libjansson-dev \
        node-llhttp python3-dev \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY CMakeLists.txt LICENSE README.md ./
COPY include include
COPY proxy proxy
COPY runtime runtime
COPY deploy/package.cmake deploy/package.cmake
COPY deploy/bundle deploy/bundle
RUN cmake -S . -B /build -G Ninja -DCMAKE_BUILD_TYPE=Release -DHOOKLINE_TESTS=OFF \
    && cmake --build /build \
    && cmake --install /build --prefix /install --strip

FROM debian:bookworm-slim
RUN apt-get update \
    && apt-get install -y --no-install-recommends \
        libuv1 libcurl4 libc-ares2 libpsl5 libmbedcrypto7 libmbedtls14 libmbedx509-1 libsqlite3-0 libpq5 libjansson4 ca-certificates \
    && rm -rf /var/lib/apt/lists/* \
    && groupadd --gid 10001 hookline \
    && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /var/lib/hookline --shell /usr/sbin/nologin hookline \
    && install -d -o hookline -g hookline -m 0700 /var/lib/hookline
COPY LICENSE /usr/share/doc/hookline/LICENSE
COPY --from=build /install/bin/ /usr/local/bin/
# For images of function-style Python apps, which copy it from here: PYTHONPATH=/usr/local/lib/hookline/python.
COPY --from=build /install/lib/hookline/ /usr/local/lib/hookline/

# The numbers, so that Kubernetes can see that this is not root (runAsNonRoot).
USER 10001:10001
# Nothing is written outside this volume: the root file system may be read-only.
ENV HOOKLINE_DATA_DIR=/var/lib/hookline
VOLUME /var/lib/hookline
# The run listener. The admin listener stays on the container's loopback unless HOOKLINE_ADMIN_LISTEN says otherwise.
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=5s --retries=3 CMD ["hookline", "health"]
ENTRYPOINT ["hookline"]

# hookline as an image: a bundle (deploy/packages.md) and no distribution, built in one stage, copied into an empty one.
# deploy/check-image.sh runs these same lines where there is no container engine.
FROM debian:bookworm-slim AS build
RUN apt-get update \
    && apt-get install -y --no-install-recommends gcc libc6-dev cmake ninja-build pkg-config ca-certificates \
        libuv1-dev libcurl4-openssl-dev libc-ares-dev libpsl-dev libmbedtls-dev libsqlite3-dev libpq-dev libjansson-dev zlib1g-dev \
        node-llhttp python3-dev \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY CMakeLists.txt LICENSE README.md ./
COPY include include
COPY proxy proxy
COPY runtime runtime
COPY deploy/package.cmake deploy/
COPY deploy/bundle deploy/bundle
# The time of all files in it. The same sources, Debian packages and time give the same files.
ARG SOURCE_DATE_EPOCH=0
RUN cmake -S . -B /build -G Ninja -DCMAKE_BUILD_TYPE=Release -DHOOKLINE_TESTS=OFF \
    && cmake --build /build --target bundle \
    && deploy/bundle/root.sh /build/hookline-*-*/ /image

FROM scratch
# /opt/hookline works in any other image as well: COPY --from=hookline /opt/hookline /opt/hookline. Images of function-style
# Python apps copy /usr/local/lib/hookline: PYTHONPATH=/usr/local/lib/hookline/python.
COPY --from=build /image/ /

LABEL org.opencontainers.image.title="hookline" \
    org.opencontainers.image.description="A sidecar that gives an HTTP app asynchronous runs, streams and webhooks" \
    org.opencontainers.image.version="0.1.0" \
    org.opencontainers.image.licenses="Apache-2.0"
ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
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

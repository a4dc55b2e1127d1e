# The service in a container: docker build -t hamdex . (from a clean clone; .ci/release says what it needs)
#
#     openssl rand -hex 32 >token; sudo chown 10001 token; chmod 600 token
#     docker run -p 7700:7700 -v hamdex:/var/lib/hamdex -v ./token:/etc/hamdex/token:ro hamdex
#     docker run -v .:/data hamdex dedup /data/corpus
FROM rust:1.95-bookworm AS build
RUN apt-get update && apt-get install -qy --no-install-recommends python3-venv && rm -rf /var/lib/apt/lists/*
RUN cargo install --locked cargo-about --features cli
WORKDIR /hamdex
COPY . .
RUN .ci/release licences archive --machines "$(uname -m)" \
    && mkdir /out \
    && tar -xzf dist/hamdex-*-linux.tar.gz --strip-components=1 -C /out

# The command is static. Bash is there for the health check and for a look inside.
FROM debian:bookworm-slim
COPY --from=build /out/ /usr/
RUN useradd --uid 10001 --no-create-home --home-dir /var/lib/hamdex --shell /usr/sbin/nologin hamdex \
    && install -d -o hamdex -g hamdex -m 700 /var/lib/hamdex
USER 10001
WORKDIR /var/lib/hamdex
VOLUME /var/lib/hamdex
EXPOSE 7700
ENV HAMDEX_DATA=/var/lib/hamdex HAMDEX_LISTEN=0.0.0.0:7700 HAMDEX_TOKEN_FILE=/etc/hamdex/token
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=10s \
    CMD ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/7700 && printf 'GET /readyz HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n' >&3 && head -1 <&3 | grep -q ' 200 '"]
ENTRYPOINT ["hamdex"]
CMD ["serve"]

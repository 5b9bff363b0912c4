# The command line in a small image: `docker build -t tetrys .`, then `docker run --rm -v "$PWD:/data" tetrys info TABLE`.
FROM rust:1.95-slim-trixie AS build
RUN apt-get update \
    && apt-get install -y --no-install-recommends g++ make nasm \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /tetrys
COPY . .
RUN --mount=type=cache,target=/usr/local/cargo/registry --mount=type=cache,target=/tetrys/target \
    cargo build --locked --profile dist -p tetrys-cli \
    && install target/dist/tetrys /usr/local/bin/tetrys

FROM debian:trixie-slim
# Object stores are reached over TLS, with the certificate authorities of the system.
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 1000 tetrys
COPY LICENSE /usr/share/doc/tetrys/LICENSE
COPY --from=build /usr/local/bin/tetrys /usr/local/bin/tetrys
USER tetrys
WORKDIR /data
ENTRYPOINT ["tetrys"]
CMD ["--help"]

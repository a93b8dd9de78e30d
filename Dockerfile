# One static binary on a small image. No step but the two module downloads needs the
# network, and none needs BuildKit.

FROM node:20 AS web
WORKDIR /src
COPY . .
# Every front end there is; the browser tests are not part of the program.
RUN set -eu; \
    for lock in web/*/package-lock.json; do \
      case "$lock" in web/e2e/*|"web/*/package-lock.json") continue;; esac; \
      ( cd "$(dirname "$lock")" && npm ci --no-audit --no-fund && npm run build && rm -rf node_modules ); \
    done

FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY --from=web /src .
ARG VERSION=dev
RUN set -eu; tags=noui; \
    for lock in web/*/package-lock.json; do \
      case "$lock" in web/e2e/*|"web/*/package-lock.json") ;; *) tags=;; esac; \
    done; \
    CGO_ENABLED=0 go build -buildvcs=false -trimpath -tags "$tags" \
      -ldflags "-s -w -X main.version=$VERSION" -o /out/tidemall .; \
    mkdir -p /out/data

FROM alpine:3.22
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
# The shop counts days in its own time zone, whatever the container's is.
COPY --from=build /usr/local/go/lib/time/zoneinfo.zip /usr/share/zoneinfo.zip
ENV ZONEINFO=/usr/share/zoneinfo.zip
COPY --from=build /out/tidemall /usr/local/bin/tidemall
# A new named volume takes the owner of the folder it is mounted on.
COPY --from=build --chown=10001:10001 /out/data /data
USER 10001:10001
ENV TIDEMALL_DATA_DIR=/data \
    TIDEMALL_HTTP_ADDR=0.0.0.0:8080
VOLUME /data
EXPOSE 8080
# Ready means that the database and its schema can be used; without Redis it is still ready.
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s --retries=3 \
  CMD wget -q -O /dev/null http://127.0.0.1:8080/readyz || exit 1
ENTRYPOINT ["/usr/local/bin/tidemall"]
CMD ["serve"]

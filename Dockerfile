# One static binary on a small image. No step but the two module downloads needs the
# network, and none needs BuildKit.

FROM golang:1.26 AS source
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
# The panel's types come from the program's own description of its API.
RUN mkdir -p bin && CGO_ENABLED=0 go run -buildvcs=false -tags noui . openapi >bin/openapi.json

FROM node:20 AS web
WORKDIR /src
COPY --from=source /src/bin bin
COPY web web
RUN cd web/admin && npm ci --no-audit --no-fund && npm run -s types && npm run build

FROM source AS build
COPY --from=web /src/web/admin/dist web/admin/dist
ARG VERSION=dev
RUN CGO_ENABLED=0 go build -buildvcs=false -trimpath -ldflags "-s -w -X main.version=$VERSION" -o /out/tidemall . && \
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

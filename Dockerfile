# The static binary and nothing else: no shell, no package manager, no user files.
#
#   docker build -t spatialstale .
#   docker run --rm -v "$PWD:/work" -w /work spatialstale run quick --out runs/quick
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags="-s -w" -o /spatialstale ./cmd/spatialstale

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /spatialstale /spatialstale
# A study needs a folder to write into and the time; nobody needs to be root.
USER 65532:65532
ENV TMPDIR=/work
ENTRYPOINT ["/spatialstale"]

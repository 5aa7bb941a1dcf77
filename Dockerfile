# The sortorder function: one static binary, no shell, no network, nothing to
# write to. Build it with `make image`, which puts the binary and the passwd
# file into the context.
FROM scratch
# kustomize and kpt run functions as the user *name* nobody.
COPY passwd /etc/passwd
COPY sortorder /sortorder
USER 65534:65534
ENTRYPOINT ["/sortorder"]

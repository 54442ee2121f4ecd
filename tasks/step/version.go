package step

// Version is the version of bflow; the build sets it by -ldflags -X.
var Version = "dev" //nolint:gochecknoglobals // the linker can set nothing else

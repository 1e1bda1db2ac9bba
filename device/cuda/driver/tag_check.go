//go:build cu && !cgo && !nogpu

package driver

// The tag cu needs cgo: build with CGO_ENABLED=1.
var _ = the_tag_cu_needs_CGO_ENABLED_1

//go:build !amd64 && !arm64

package spd

import "gpfit/internal/isa"

func kernelsOf(v isa.Variant) kernels { return portable(v) }

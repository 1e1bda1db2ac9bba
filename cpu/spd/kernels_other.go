//go:build !amd64 && !arm64

package spd

import "gpfit/internal/variant"

func kernelsOf(v variant.Variant) kernels { return portable(v) }

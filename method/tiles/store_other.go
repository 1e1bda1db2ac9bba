//go:build !linux

package tiles

import (
	"errors"
	"os"
)

// mapFile is not available on this system.
func mapFile(*os.File, int64) (memory []float64, free func() error, err error) {
	return nil, nil, errors.ErrUnsupported
}

// available returns 0: files are not mapped on this system.
func available(string) int64 { return 0 }

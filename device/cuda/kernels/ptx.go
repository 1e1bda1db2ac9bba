package kernels

import (
	"bytes"
	_ "embed"
	"fmt"
)

// ptx is compiled for sm_80 by generate.sh.
//
//go:embed gpfit.ptx
var ptx []byte

// ptxTarget is its line that names the architecture.
var ptxTarget = []byte("\n.target sm_80\n")

// Module returns the PTX for a device of the given compute capability, ending in
// a zero byte as cuModuleLoadData wants it. The code for 8.0 and for 9.0 differs in
// the .target line alone (generate.sh checks that). Devices before 8.0 are an error.
func Module(major, minor int) ([]byte, error) {
	text := append(bytes.Clone(ptx), 0)
	switch {
	case major >= 9:
		return bytes.Replace(text, ptxTarget, []byte("\n.target sm_90\n"), 1), nil
	case major == 8:
		return text, nil
	}
	return nil, fmt.Errorf("kernels: compute capability %d.%d: at least 8.0 is needed", major, minor)
}

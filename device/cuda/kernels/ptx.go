package kernels

import (
	"bytes"
	_ "embed"

	"gpfit/device/cuda/kernels/ptx"
)

// module is compiled for sm_80 by generate.sh.
//
//go:embed gpfit.ptx
var module []byte

// ptxTarget is its line that names the architecture.
var ptxTarget = []byte("\n.target sm_80\n")

// Module returns the PTX of the kernels in [Table] for a device of the given compute
// capability, ending in a zero byte as cuModuleLoadData wants it. The code for 8.0 and
// for 9.0 differs in the .target line alone (generate.sh checks that). Devices before
// 8.0 are an error.
func Module(major, minor int) ([]byte, error) {
	target, err := ptx.Target(major, minor)
	if err != nil {
		return nil, err
	}
	return bytes.Replace(append(bytes.Clone(module), 0), ptxTarget, []byte("\n.target "+target+"\n"), 1), nil
}

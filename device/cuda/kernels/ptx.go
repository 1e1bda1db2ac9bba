package kernels

import (
	"bytes"
	_ "embed"

	"gpfit/device/cuda/ptx"
)

// generate.sh compiles module for sm_80.
//
//go:embed gpfit.ptx
var module []byte

// ptxTarget is the line of module that names the architecture.
var ptxTarget = []byte("\n.target sm_80\n")

// Module returns the PTX of the kernels in [Table] for a device of the given compute capability,
// ending in a zero byte as cuModuleLoadData requires. The code for 8.0 and for 9.0 differs only in
// the .target line (generate.sh checks that). It returns an error for devices before 8.0.
func Module(major, minor int) ([]byte, error) {
	target, err := ptx.Target(major, minor)
	if err != nil {
		return nil, err
	}
	return bytes.Replace(append(bytes.Clone(module), 0), ptxTarget, []byte("\n.target "+target+"\n"), 1), nil
}

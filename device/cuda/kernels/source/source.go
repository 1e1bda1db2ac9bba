// Package source holds the text of the CUDA kernels, for builds that run them on
// the CPU. Programs embed the compiled kernels of package kernels instead.
//
// gpfit.cu includes everything; platform.h says what the code asks of its
// surroundings, program.h how covariance programs are encoded and run.
package source

import "embed"

// Files are the sources.
//
//go:embed *.cu *.h
var Files embed.FS

package mpi

import (
	"errors"
	"fmt"
	"slices"

	"gpfit/device"
	"gpfit/kernel"
	"gpfit/method/internal/hostmethod"
)

// limits list the abilities that the method lacks.
var limits = hostmethod.Limits{Method: Name, Blocks: hostmethod.NoBlocks, Diagonal: "leave-one-out; the method dense does", Factor: hostmethod.NoFactor}

// supports returns an error if the method cannot do the workload on a number of ranks.
func supports(w device.Workload, ranks int) error {
	err := limits.Refuse(w)
	if err == nil && w.Program != nil && ranks > 1 {
		err = portable(w.Program)
	}
	return err
}

// portable returns an [*device.UnsupportedKernelError] for a program that other ranks cannot make of its text: one with a
// family that is written in Go.
func portable(prog *kernel.Program) error {
	own, err := compile(prog.Text, prog.Labels)
	if err == nil && !(own.Same(prog) && slices.Equal(own.Names(), prog.Names())) {
		err = errors.New("its text stands for another function")
	}
	if err != nil {
		return &device.UnsupportedKernelError{Method: Name, Kernel: prog.Text, Err: fmt.Errorf("other ranks cannot read it: %w", err)}
	}
	return nil
}

// unavailable is the error of libraries that cannot be opened.
func unavailable(err error) error {
	return &device.UnavailableError{Method: Name, Reason: err.Error()}
}

package mpi

import (
	"errors"
	"fmt"
	"slices"

	"gpfit/device"
	"gpfit/kernel"
)

// errMiddle is the error for adjoints with a middle term.
var errMiddle = &device.UnsupportedError{Method: Name, What: "leave-one-out; the method dense does"}

// supports returns the error for what the method has neither on processors nor on cards.
func supports(w device.Workload, ranks int) error {
	what := ""
	switch {
	case w.Blocks != nil:
		what = "blocks of the inverse, which folds and places of several rows need; the method dense does"
	case w.Diagonal:
		return errMiddle
	case w.Factor:
		what = "a factor of the covariance matrix; the method dense does"
	case w.Program != nil && ranks > 1:
		return portable(w.Program)
	}
	if what != "" {
		return &device.UnsupportedError{Method: Name, What: what}
	}
	return nil
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

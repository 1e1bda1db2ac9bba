package graph

import (
	"errors"
	"fmt"

	"github.com/chewxy/hm"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// matrixType is the type of every handle's node.
func matrixType() gorgonia.TensorType { return gorgonia.TensorType{Dims: 2, Of: tensor.Float64} }

// handle is the value of a matrix node: a description of the matrix instead of its
// elements. It satisfies gorgonia.Value but cannot be copied as data.
type handle struct {
	solver     *solver
	rows, cols int
}

func (h *handle) Shape() tensor.Shape { return tensor.Shape{h.rows, h.cols} }
func (h *handle) Size() int           { return h.rows * h.cols }
func (h *handle) Data() any           { return nil }
func (h *handle) Dtype() tensor.Dtype { return tensor.Float64 }
func (h *handle) Uintptr() uintptr    { return 0 }
func (h *handle) MemSize() uintptr    { return 0 }

// Type returns the matrix type for Gorgonia's type inference.
func (h *handle) Type() hm.Type { return matrixType() }

// Format prints the shape.
func (h *handle) Format(s fmt.State, _ rune) { fmt.Fprintf(s, "matrix %d×%d", h.rows, h.cols) }

// Clone always fails, because nothing may copy an n×n matrix.
func (h *handle) Clone() (any, error) {
	return nil, errors.New("graph: a matrix handle cannot be cloned")
}

// pointsHandle is the matrix X of inputs.
type pointsHandle struct{ handle }

// kernelHandle is K(θ).
type kernelHandle struct {
	handle
	theta []float64
}

// covarianceHandle is Σ = K(θ) + diag(noise), with noise of length 1 or n.
// estimated are the estimated variances in noise, one per group.
type covarianceHandle struct {
	handle
	theta, noise, estimated []float64
}

// adjointHandle is ∂cost/∂Σ = inv·Σ⁻¹ − outer·Σ_t α_tα_tᵀ for the factorisation
// with the given stamp.
type adjointHandle struct {
	handle
	inv, outer float64
	// loo, if not 0, replaces this by loo times the adjoint under looOp.
	loo   float64
	stamp uint64
}

var (
	_ gorgonia.Value = (*pointsHandle)(nil)
	_ gorgonia.Value = (*kernelHandle)(nil)
	_ gorgonia.Value = (*covarianceHandle)(nil)
	_ gorgonia.Value = (*adjointHandle)(nil)
)

// numbers returns the elements of a scalar or vector value. The slice may share
// memory with the value.
func numbers(v gorgonia.Value) ([]float64, error) {
	switch d := v.Data().(type) {
	case float64:
		return []float64{d}, nil
	case []float64:
		return d, nil
	}
	return nil, fmt.Errorf("graph: a value of type %T does not consist of float64 numbers", v)
}

func scalar(v gorgonia.Value) (float64, error) {
	d, err := numbers(v)
	if err != nil || len(d) != 1 {
		return 0, fmt.Errorf("graph: expected one number, found %v", v)
	}
	return d[0], nil
}

// asInput returns an input of an op as type T, with a clear error instead of a
// failed type assertion.
func asInput[T gorgonia.Value](v gorgonia.Value) (T, error) {
	h, ok := v.(T)
	if !ok {
		return h, fmt.Errorf("graph: op received a %T but needs a %T", v, h)
	}
	return h, nil
}

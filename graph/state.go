package graph

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/chewxy/hm"
	"gonum.org/v1/gonum/floats"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"gpfit/device"
	"gpfit/kernel"
	"gpfit/mean"
)

// Terms are the parts of the objective.
type Terms struct {
	// DataFit is ½ rᵀΣ⁻¹r, Complexity ½ log|Σ|, Constant ½ n log 2π
	// (Rasmussen & Williams 2006, eq. 5.8, negated), summed over the targets.
	DataFit, Complexity, Constant float64
	// Jacobian is the term of a transform of the targets, 0 without one.
	Jacobian float64
	// DataFits are the targets' parts of DataFit; the other two terms are the same for each target.
	DataFits []float64
	// NegLogPrior is the sum of the priors' terms, 0 without priors.
	NegLogPrior float64
	// LeaveOneOut is the criterion of leave-one-out or of cross-validation if that is the
	// objective.
	LeaveOneOut float64
	// Jitter is the variance that had to be added to the diagonal for the
	// factorization; 0 unless the user allowed some.
	Jitter float64
	// LogDetStdErr is the standard error of log|Σ| in Complexity, or 0 if the
	// workspace's method is exact.
	LogDetStdErr float64
}

// NLML returns the negative log marginal likelihood, without priors.
func (t Terms) NLML() float64 { return t.DataFit + t.Complexity + t.Constant + t.Jacobian }

// solver drives one workspace for the ops of one graph. It records what the workspace holds and
// does no work twice for the same parameters: a gradient after a value reuses the factor.
type solver struct {
	ws     device.Workspace
	prog   *kernel.Program
	ladder choleskyJitter
	salt   uint64
	// device is the name for errors.
	device string
	ctx    context.Context
	// targets is the number of columns of the residual. h (n×q) holds the basis functions of a
	// mean whose coefficients are found by generalized least squares; nil means none.
	targets int
	h       []float64
	// freeBasis (n×q) holds the basis functions of a mean whose coefficients are parameters; nil
	// means none. noisy describes the noise.
	freeBasis []float64
	noisy     NoiseModel
	// leavesOut says that the objective is leave-one-out, with the predictions of out.
	leavesOut bool
	out       leftOut

	// stamp counts the matrices formed. formed means that the workspace holds the
	// matrix of (theta, noise), and solved that alpha belongs to that factorization.
	stamp          uint64
	formed, solved bool
	solution
	// repeated are the rows of places with several; nil until needed.
	repeated *[][]int

	// contracted means that grad and diag belong to (alpha, inv, outer).
	contracted bool
	// frozen makes nlml and contract return what they have, whatever the parameters.
	frozen          bool
	inv, outer, loo float64
	grad, diag      []float64
	identity        identity
	// groups are the rows that addOuter takes together; nil until needed.
	groups []rowGroup
}

// solution holds the results of an evaluation, without the matrix.
type solution struct {
	// estimated are the parameters within noise.
	theta, noise, estimated      []float64
	jitter, logDet, logDetStdErr float64
	// alpha = Σ⁻¹r (n×targets), where r is residual − Hβ̂ with the mean's coefficients beta
	// (q×targets). gls has their covariance.
	residual, alpha []float64
	beta            []float64
	solvedH         []float64 // Σ⁻¹H
	gls             *mean.GLS
	// sizes has for each target the sum of the norms of the solutions of which alpha is a difference.
	sizes []float64
	terms Terms
}

// clone returns a copy that later evaluations do not change.
func (s *solution) clone() solution {
	c := *s
	for _, v := range []*[]float64{&c.theta, &c.noise, &c.estimated, &c.residual, &c.alpha, &c.sizes} {
		*v = slices.Clone(*v)
	}
	return c
}

func newSolver(ws device.Workspace, spec Spec) *solver {
	n := ws.N()
	s := &solver{
		ws: ws, prog: spec.Program, ladder: choleskyJitter(spec.MaxJitter), ctx: context.Background(), targets: len(spec.Y) / n,
		solution: solution{alpha: make([]float64, len(spec.Y))}, diag: make([]float64, n), grad: make([]float64, spec.Program.NumParams),
		noisy: spec.Noise, leavesOut: spec.LeaveOneOut, device: spec.Device,
	}
	s.identity = identity{solver: s, weights: spec.Program.Homogeneous(spec.X), x: spec.X, unproved: spec.Unproved}
	s.out = leftOut{solver: s, squaredError: spec.SquaredError, folds: folding{threads: spec.Threads}}
	if spec.LeaveOneOut {
		s.out.folds.ends = spec.Folds
	}
	if basis := spec.Mean.Evaluate(spec.X); spec.MeanFree {
		s.freeBasis = basis
	} else {
		s.h = basis
	}
	return s
}

// groupSums returns the sum of the adjoint's diagonal over the points of each of the noise groups,
// each divided by its weight; without groups there is one sum.
func (s *solver) groupSums(groups int) []float64 {
	sums := make([]float64, groups)
	if groups == 0 {
		return sums // no noise is estimated
	}
	for i, v := range s.diag {
		group, factor := s.noisy.share(i)
		sums[group] += factor * v
	}
	return sums
}

// objectiveName returns the name of the op of the objective.
func (s ops) objectiveName() string {
	if !s.leavesOut {
		return "NLML"
	}
	name := "LOO"
	if s.out.folds.ends != nil {
		name = "CV"
	}
	if s.out.squaredError {
		name += "-RMSE"
	}
	return name
}

// derivativeName returns the name of an op in the derivative of the objective.
func (s ops) derivativeName(what string) string {
	if s.leavesOut {
		return "LOO" + what
	}
	return what
}

// restore forms Σ again if a contraction has used it up. Solutions stay valid.
func (s *solver) restore() error {
	if s.formed {
		return nil
	}
	noise := slices.Clone(s.noise)
	floats.AddConst(s.jitter, noise)
	if err := s.ws.Form(s.ctx, s.prog, s.theta, noise); err != nil {
		s.solved = false
		return err
	}
	s.formed = true
	return nil
}

// rowGroup is a block of the covariance; nil rows stand for all.
type rowGroup struct {
	rows []int
	x    *kernel.Points
}

// rowGroups returns the blocks of a workspace's covariance.
func rowGroups(ws device.Workspace, x *kernel.Points) []rowGroup {
	blocks, ok := ws.(device.BlockDiagonal)
	if !ok {
		return []rowGroup{{nil, x}}
	}
	var out []rowGroup
	for _, rows := range blocks.Blocks() {
		out = append(out, rowGroup{rows, x.Pick(rows)})
	}
	return out
}

// matrixType is the type of every handle's node.
func matrixType() gorgonia.TensorType { return gorgonia.TensorType{Dims: 2, Of: tensor.Float64} }

// handle is the value of a matrix node: a description of the matrix instead of its
// elements. It satisfies gorgonia.Value but cannot be copied as data.
type handle struct {
	rows, cols int
	// content is a kernelMatrix, a covariance or an adjoint; nil for X.
	content any
}

var _ gorgonia.Value = (*handle)(nil)

// square returns the shape of the n×n matrices.
func (s ops) square() tensor.Shape { return tensor.Shape{s.ws.N(), s.ws.N()} }

// handle returns the handle of an n×n matrix.
func (s ops) handle(content any) *handle { return &handle{s.ws.N(), s.ws.N(), content} }

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

// kernelMatrix is K(θ).
type kernelMatrix []float64

// covariance is Σ = K(θ) + diag(noise), with noise of length 1 or n.
// estimated are the estimated variances in noise, one per group.
type covariance struct{ theta, noise, estimated []float64 }

// adjoint is ∂cost/∂Σ = inv·Σ⁻¹ − outer·Σ_t α_tα_tᵀ for the factorization with the given stamp.
type adjoint struct {
	inv, outer float64
	// loo, if not 0, replaces this by loo times the adjoint under leave-one-out.
	loo   float64
	stamp uint64
}

// contentOf returns the content of an op's input.
func contentOf[T any](v gorgonia.Value) (T, error) {
	var c T
	h, ok := v.(*handle)
	if ok {
		c, ok = h.content.(T)
	}
	if !ok {
		return c, fmt.Errorf("graph: op received a %T but needs a handle of a %T", v, c)
	}
	return c, nil
}

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

// choleskyJitter is the largest variance that the user allows after a failed
// Cholesky factorization as an addition to the diagonal; 0 allows none.
type choleskyJitter float64

// climb calls form without jitter. While the matrix is not positive definite, it
// repeats the call with jitter from 1e-10, ten times more each time, up to the
// limit. It returns the jitter of the last call.
func (limit choleskyJitter) climb(form func(jitter float64) error) (jitter float64, err error) {
	err = form(0)
	for next := 1e-10; device.IsNotPD(err) && next <= float64(limit); next *= 10 {
		jitter = next
		err = form(jitter)
	}
	return jitter, err
}

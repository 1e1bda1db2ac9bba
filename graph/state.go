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

	"gpfit/cpu/spd"
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
	// leavesOut says that the objective is leave-one-out, squaredError which of its criteria.
	leavesOut, squaredError bool

	// stamp counts the matrices formed. formed means that the workspace holds the
	// matrix of (theta, noise). estimated are the parameters within noise.
	stamp                   uint64
	formed                  bool
	theta, noise, estimated []float64
	jitter                  float64
	logDet, logDetStdErr    float64

	// solved means that alpha = Σ⁻¹r (n×targets) belongs to that factorization, where r is
	// residual − Hβ̂ with the mean's coefficients beta (q×targets). gls has their covariance.
	solved          bool
	residual, alpha []float64
	beta            []float64
	solvedH         []float64 // Σ⁻¹H
	gls             *mean.GLS
	terms           Terms
	// left are the predictions of single rows, held the predictions of folds; nil until needed.
	left, held *predictions
	folds      folding
	// repeated are the rows of places with several; nil until needed.
	repeated *[][]int

	// contracted means that grad and diag belong to (alpha, inv, outer).
	contracted bool
	// frozen makes nlml and contract return what they have, whatever the parameters.
	frozen          bool
	inv, outer, loo float64
	grad, diag      []float64
	identity        identity
	// evaluator computes the diagonal of K in variance; both are nil until needed.
	evaluator *kernel.Evaluator
	variance  []float64
	// groups are the rows that addOuter takes together; nil until needed.
	groups []rowGroup
}

func newSolver(ws device.Workspace, spec Spec) *solver {
	n := ws.N()
	s := &solver{
		ws: ws, prog: spec.Program, ladder: choleskyJitter(spec.MaxJitter), ctx: context.Background(), targets: len(spec.Y) / n,
		alpha: make([]float64, len(spec.Y)), diag: make([]float64, n), grad: make([]float64, spec.Program.NumParams),
		noisy: spec.Noise, leavesOut: spec.LeaveOneOut, squaredError: spec.SquaredError, folds: folding{threads: spec.Threads},
		identity: identity{weights: spec.Program.Homogeneous(spec.X), x: spec.X}, device: spec.Device,
	}
	if spec.LeaveOneOut {
		s.folds.ends = spec.Folds
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
func groupSums(s *solver, groups int) []float64 {
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
func objectiveName(s *solver) string {
	if !s.leavesOut {
		return "NLML"
	}
	name := "LOO"
	if s.folds.ends != nil {
		name = "CV"
	}
	if s.squaredError {
		name += "-RMSE"
	}
	return name
}

// derivativeName returns the name of an op in the derivative of the objective.
func derivativeName(s *solver, what string) string {
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

// predictions are the state of a leave-one-out criterion for the solver's alpha. Each target
// is predicted from all others at the same parameters, with the error a_i = α_i/q_i and the variance v_i = 1/q_i, where α = Qr,
// q = diag(Q) and Q = Σ⁻¹ (Rasmussen & Williams 2006, eq. 5.10 to 5.12). One criterion
// is the negative log predictive density, summed over the T targets:
//
//	f = Σ_t Σ_i −½ log q_i + α_ti²/(2q_i) + ½ log 2π.
//
// The other is the squared error, with M_t = 1/n Σ_i a_ti²:
//
//	f = Σ_t ½n(log(2πM_t) + 1) + ½nT(s − 1 − log s),  s = 1/(nT) Σ_t Σ_i α_ti²/q_i.
//
// Its first part is the negative log density of the errors under one common variance.
// The errors do not change if all variances of Σ are multiplied by a number; the second
// part, which is 0 at s = 1 and positive elsewhere, chooses that number: at the optimum
// the mean squared standardized error is 1 (Sundararajan & Keerthi, Neural Computation
// 13 (2001), 1103; Bachoc, Computational Statistics & Data Analysis 66 (2013), 55).
//
// If the solver finds the mean's coefficients by generalized least squares, they are
// refitted without each point: Q = Σ⁻¹ − Σ⁻¹H(HᵀΣ⁻¹H)⁻¹HᵀΣ⁻¹ (Dubrule, Mathematical
// Geology 15 (1983), 687), and because HᵀQ = 0, Qy = Q(y − Hβ̂).
//
// The derivatives for the adjoint g of f follow from dQ = −Q dΣ Q, which holds with
// and without coefficients (eq. 5.13):
//
//	Σ receives g(Q·diag(h)·Q − ½Σ_t(α_t b_tᵀ + b_t α_tᵀ)),  r receives gb,
//	b = Qp,  p_ti = ∂f/∂α_ti,  h_i = −∂f/∂q_i.
//
// If the solver has folds of rows, all rows of a fold are predicted from the rows of the other
// folds. With V = (Q_II)⁻¹ for the rows I of a fold, their errors are a_I = Vα_I and their
// covariance is V, of which v is the diagonal (Sundararajan & Keerthi; Ginsbourger & Schärer,
// arXiv 2101.03108). The criteria are the same functions of a and v. From dV = −V dQ_II V follow,
// with e = ∂f/∂a and h = ∂f/∂v, the p and the W that the formulas need in place of diag(h):
//
//	p_I = ∂f/∂α_I = Ve_I,  W = −∂f/∂Q_II = V·diag(h)·V + ½Σ_t(p_t a_tᵀ + a_t p_tᵀ).
type predictions struct {
	// density is the negative log predictive density.
	density float64
	// squares are the mean squared errors M of the targets, standardized is s.
	squares      []float64
	standardized float64
	// squaredError says which criterion is the objective.
	squaredError bool
	// a and p are n×T. v and h have n elements; of single rows, v holds q instead. w (n×q,
	// column-major) whitens the mean, Q = Σ⁻¹ − wwᵀ; it is nil without fitted coefficients.
	a, p, v, h, w []float64
	// b is Qp, nil until it is needed.
	b []float64
	// scale is the factor of W in the blocks of folding, which hold V before; then it is 0.
	scale float64
}

// folding holds what the predictions of folds need.
type folding struct {
	// ends are the ends of the folds, nil for single rows.
	ends []int
	// engine, which has that many threads, and the other fields are nil until needed.
	threads int
	engine  *spd.Engine
	blocks  *device.Blocks
	matrix  *spd.Symmetric
}

// identity checks every gradient of the marginal likelihood against tr(Σ⁻¹Σ) = n,
// using numbers that are already computed. For the adjoint A = aΣ⁻¹ − b Σ_t α_tα_tᵀ
// of K, with Σα_t = r_t (residuals r for any coefficients of the mean), and weights
// w of the kernel's log-parameters with Σ_p w_p ∂K/∂log θ_p = K,
//
//	Σ_p w_p ⟨A, ∂K/∂log θ_p⟩ = ⟨A, K⟩ = ⟨A, Σ⟩ − Σ_i A_ii σ_i²
//	                         = a·n − b Σ_t α_t·r_t − Σ_i A_ii σ_i²,
//
// where σ_i² is the total added to the diagonal element i. A wrong inverse or a
// wrong contraction violates the identity.
type identity struct {
	// weights is nil if no such weights are known; x are the points.
	weights []float64
	x       *kernel.Points
	// spread is the sum over targets of ‖α_t‖ times the norms of the solutions from
	// which α_t was computed.
	spread float64
	// slack is the difference of the two sides in the last check, in units of the bound, for tests.
	slack float64
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
func square(s *solver) tensor.Shape { return tensor.Shape{s.ws.N(), s.ws.N()} }

// handleOf returns the handle of an n×n matrix.
func handleOf(s *solver, content any) *handle { return &handle{s.ws.N(), s.ws.N(), content} }

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

package graph

import (
	"errors"
	"fmt"
	"strconv"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"gpfit/internal/transform"
	"gpfit/kernel"
	"gpfit/mean"
)

// Spec describes the objective to build.
type Spec struct {
	// Program is the covariance function, X the points, n×d, and Y the targets: n
	// numbers, or n×T column-major for T targets that share all parameters. The
	// objective is the sum over the targets.
	Program *kernel.Program
	X       *kernel.Points
	Y       []float64
	// Transform, if not nil, makes the targets functions of a parameter, instead of Y, of which
	// there must be one target.
	Transform *TargetTransform
	// Mean is the mean function m(x) = Σ_j β_j h_j(x); empty means zero.
	Mean mean.Basis
	// MeanFree makes the coefficients β parameters of the objective, with their
	// names in package mean and without logarithms. Otherwise β maximizes the
	// likelihood at the other parameters, with one vector per target.
	MeanFree bool
	// Noise describes the noise on the diagonal; the zero value is one variance for all points.
	Noise NoiseModel
	// LeaveOneOut makes the objective the negative leave-one-out log predictive
	// density instead of the negative log marginal likelihood. A value then
	// costs n³ operations, and a gradient after it up to 4n³/3. SquaredError, with
	// LeaveOneOut, takes the squared error of the predictions in place of their density.
	LeaveOneOut, SquaredError bool
	// Folds, with LeaveOneOut, are the ends of folds of consecutive rows, as in [device.Blocks]:
	// the objective then scores predictions of the rows of each fold from all rows outside it. It
	// needs memory for a matrix of each fold's rows on the host ([device.Workload]). Threads is
	// the number of threads that work on these matrices, 0 for all.
	Folds   []int
	Threads int
	// Derive replaces parameters by functions of others. The key is a parameter's
	// name ("lengthscale" for all of an ARD vector, or the name of one element),
	// and the function returns its natural value as a node of the same shape. A
	// derived parameter is not a variable of the objective.
	Derive map[string]func(Nodes) (*gorgonia.Node, error)
	// Prior, if not nil, returns a scalar node that Build adds to the cost: the
	// negative log prior density, for example from [NegLogPrior].
	Prior func(Nodes) (*gorgonia.Node, error)
	// MaxJitter is the largest variance that may be added to the diagonal if Σ is not positive
	// definite; 0 allows none. Terms.Jitter reports the variance added.
	MaxJitter float64
	// Unproved says that the kernel may be no covariance function, so that the noise bounds no eigenvalue of Σ.
	Unproved bool
	// Labels are for drawings ([Objective.WriteDOT]).
	Labels Labels
	// Device names the device of the workspace in errors.
	Device string
}

// TargetTransform makes the targets functions of a parameter λ, z_i = (T(λ, ℓ_i) − Mean)/Scale with
// [transform.Value]. The objective then has the term −Σ_i log ∂T/∂u = (1 − λ)Σ_i ℓ_i, so that it is
// a density of u for any λ (Box & Cox 1964, eq. 5; Snelson, Rasmussen & Ghahramani, Warped Gaussian
// processes, NIPS 2003, eq. 6).
type TargetTransform struct {
	Kind transform.Name
	// Coordinates are the ℓ_i.
	Coordinates []float64
	Mean, Scale float64
}

// Nodes gives derivations and priors access to the free parameters by name.
type Nodes struct {
	// Log holds the variables of the optimizer: logarithms of parameters, and coefficients of the
	// mean without logarithm. Natural holds the parameters in natural units.
	Log, Natural map[string]*gorgonia.Node
	// The derivations and priors of this package use these.
	graph     *gorgonia.ExprGraph
	vars      []*variable
	inputName func(string) string
}

// variable is a free parameter: an input node and the storage of its numbers.
type variable struct {
	name     string
	elements []string
	isLog    bool
	node     *gorgonia.Node
	natural  *gorgonia.Node
	offset   int
	// vector backs a vector node, number a scalar node.
	vector []float64
	number *gorgonia.F64
}

func (v *variable) set(z []float64) {
	if v.vector != nil {
		copy(v.vector, z[v.offset:])
	} else {
		*v.number = gorgonia.F64(z[v.offset])
	}
}

func (v *variable) get() []float64 {
	if v.vector != nil {
		return v.vector
	}
	return []float64{float64(*v.number)}
}

// Labels say what drawings call a model; the zero value calls columns by their indices.
type Labels struct {
	// Kernel is the kernel's text. Column returns the label of a column of the points.
	// Parameter returns the label of a parameter, or of an element of one.
	Kernel    string
	Column    func(index int) string
	Parameter func(name string) string
}

func (l Labels) kernel(prog *kernel.Program) string {
	if l.Kernel == "" {
		return prog.Text
	}
	return l.Kernel
}

func (l Labels) column(index int) string {
	if l.Column == nil {
		return strconv.Itoa(index)
	}
	return l.Column(index)
}

func (l Labels) parameter(name string) string {
	if l.Parameter == nil {
		return name
	}
	return l.Parameter(name)
}

// input adds a scalar or vector of numbers that are not parameters.
func (n Nodes) input(name string, values []float64) *gorgonia.Node {
	named := gorgonia.WithName(n.inputName(name))
	if len(values) == 1 {
		return gorgonia.NewScalar(n.graph, tensor.Float64, named, gorgonia.WithValue(gorgonia.NewF64(values[0])))
	}
	return gorgonia.NewVector(n.graph, tensor.Float64, gorgonia.WithShape(len(values)), named,
		gorgonia.WithValue(tensor.New(tensor.WithShape(len(values)), tensor.WithBacking(values))))
}

// NoiseModel describes the noise in Σ = K + diag(noise):
//
//	noise_i = known_i + σ²_group(i)/weight_i
//
// The zero value is one estimated variance σ² for all points, the parameter noise_variance.
// Without estimated and known variances Σ = K, and the posterior interpolates the targets.
type NoiseModel struct {
	// None omits the estimated part.
	None bool
	// Known holds a known variance for each point, length n; nil means none.
	Known []float64
	// Labels are the names of groups of points. Each group has its own variance,
	// the parameter noise_variance[LABEL]. Group, of length n, holds each point's
	// index in Labels. Both are nil for a single variance.
	Labels []string
	Group  []int
	// Weights holds a positive weight for each point, length n: its estimated variance is the
	// group's divided by the weight, as for the mean of that many observations. nil means 1.
	Weights []float64
}

// share returns the group of a point, 0 without groups, and the number by which its estimated
// variance is multiplied.
func (z *NoiseModel) share(i int) (group int, factor float64) {
	if factor = 1; z.Weights != nil {
		factor /= z.Weights[i]
	}
	if z.Group != nil {
		group = z.Group[i]
	}
	return group, factor
}

// names returns the names of the estimated variances.
func (z NoiseModel) names() []string {
	switch {
	case z.None:
		return nil
	case z.Labels == nil:
		return []string{NoiseVariance}
	}
	out := make([]string, len(z.Labels))
	for i, label := range z.Labels {
		out[i] = NoiseName(label)
	}
	return out
}

// NoiseName returns the name of the noise variance of a group.
func NoiseName(label string) string { return NoiseVariance + "[" + label + "]" }

func (z NoiseModel) check(n int) error {
	if z.Known != nil && len(z.Known) != n {
		return fmt.Errorf("graph: %d known noise variances for %d points", len(z.Known), n)
	}
	for i, v := range z.Known {
		if !(v >= 0) || v-v != 0 {
			return fmt.Errorf("graph: invalid known noise variance %v of point %d", v, i)
		}
	}
	if z.Weights != nil && (z.None || len(z.Weights) != n) {
		return fmt.Errorf("graph: %d weights of estimated noise for %d points", len(z.Weights), n)
	}
	for i, w := range z.Weights {
		if !(w > 0) || w-w != 0 {
			return fmt.Errorf("graph: invalid weight %v of point %d", w, i)
		}
	}
	if z.None && z.Labels != nil || (z.Labels == nil) != (z.Group == nil) || z.Group != nil && len(z.Group) != n {
		return fmt.Errorf("graph: %d noise groups, given for %d of %d points", len(z.Labels), len(z.Group), n)
	}
	for _, g := range z.Group {
		if g < 0 || g >= len(z.Labels) {
			return errors.New("graph: a noise group has no label")
		}
	}
	return nil
}

// diagonal returns the noise of n points for the given estimated variances, as a
// single number if it is the same for all of them.
func (z NoiseModel) diagonal(estimated []float64, n int) []float64 {
	if z.Known == nil && z.Group == nil && z.Weights == nil {
		n = 1
	}
	out := make([]float64, n)
	copy(out, z.Known)
	for i := range out {
		if !z.None {
			group, factor := z.share(i)
			out[i] += factor * estimated[group]
		}
	}
	return out
}

// NoiseVariance is the name of the noise variance or, with groups, of the vector of
// the parameters noise_variance[LABEL].
const NoiseVariance = "noise_variance"

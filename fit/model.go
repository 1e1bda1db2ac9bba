package fit

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/floats"

	"gpfit/kernel"
	"gpfit/mean"
)

// model holds the covariance function and the mean function to fit to a sample.
type model struct {
	expr    kernel.Expr
	program *kernel.Program
	mean    mean.Expr
	basis   mean.Basis
	// meanFree says that the mean's coefficients are parameters of the objective, not
	// found by least squares.
	meanFree bool
}

// newModel parses the options' expressions for the columns of a sample.
func newModel(s *sample, o Options) (*model, error) {
	text := o.Kernel
	if text == "" {
		text = "rbf"
	}
	m := &model{}
	var err error
	if m.expr, err = (kernel.Parser{Families: o.Kernels, Columns: s.names()}).Parse(text); err != nil {
		return nil, err
	}
	if o.ARD {
		m.expr = kernel.WithARD(m.expr)
	}
	m.fixZeros(o.Fix)
	if m.program, err = kernel.Compile(m.expr, s.columns); err != nil {
		if len(s.columns) < s.data.D {
			// The kernel may name a column that was left out.
			err = fmt.Errorf("%w\n%s", err, s.warnings[len(s.warnings)-1])
		}
		return nil, err
	}
	return m, m.addMean(s, o)
}

// fixZeros makes the offsets that the options fix at 0 constants of the kernel.
func (m *model) fixZeros(fix []Assignment) {
	for _, a := range fix {
		if a.Given && a.Value == 0 {
			m.expr, _ = kernel.WithZero(m.expr, a.Name)
		}
	}
}

// addMean evaluates the mean function at the points and checks that its coefficients
// are determined.
func (m *model) addMean(s *sample, o Options) error {
	var err error
	if m.mean, err = mean.Parse(o.Mean, s.names()); err != nil {
		return err
	}
	if m.basis, err = m.mean.Basis(s.points, s.columns); err == nil {
		err = m.basis.CheckRank(m.basis.Evaluate(s.points))
	}
	if err != nil {
		return optionErrorf("mean", m.mean.Text(s.names()), "%v", s.withNames(err))
	}
	named := m.namedCoefficient(s, o)
	if s.data.TargetNames != nil && (named != "" || o.MeanFit == MeanFree) {
		return optionErrorf("", "", "with several targets, gpfit finds the coefficients of the mean by least squares for each target: they cannot be set, fixed, bounded or free")
	}
	switch o.MeanFit {
	case MeanAuto:
		m.meanFree = named != ""
	case MeanFree:
		m.meanFree = true
	case MeanGLS:
		if named != "" {
			return optionErrorf("", "", "%s is a coefficient of the mean, which option mean-fit gls finds by least squares: leave out one of the two", named)
		}
	default:
		return optionErrorf("mean-fit", strconv.Quote(string(o.MeanFit)), "must be gls or free")
	}
	return nil
}

// withNames returns an error about the basis with the names of columns in place of
// indices.
func (s *sample) withNames(err error) error {
	var rank *mean.RankError
	if !errors.As(err, &rank) {
		return err
	}
	named := *rank
	named.Name, named.Of = s.display(rank.Name), nil
	for _, name := range rank.Of {
		named.Of = append(named.Of, s.display(name))
	}
	return &named
}

// namedCoefficient returns the first coefficient of the mean, or group of them, that
// an option names; "" if there is none.
func (m *model) namedCoefficient(s *sample, o Options) string {
	var names []string
	for _, a := range slices.Concat(o.Set, o.Fix) {
		names = append(names, a.Name)
	}
	for _, b := range o.Bounds {
		names = append(names, b.Name)
	}
	for _, p := range o.Priors {
		names = append(names, p.Name)
	}
	for _, name := range names {
		if slices.ContainsFunc(m.basis, func(f mean.Function) bool { return f.Group == name || f.Name() == s.indexed(name) }) {
			return name
		}
	}
	return ""
}

// determinedBy reports whether a sample's rows determine the coefficients of a mean
// found by least squares. Too few rows may not.
func (m *model) determinedBy(s *sample) bool {
	return m.meanFree || m.basis.CheckRank(m.basis.Evaluate(s.points)) == nil
}

// targetVariance returns the variance that kernel and noise have to explain, in
// scaled units, as the mean over the targets. It is the variance of the targets or,
// if least squares find the mean, of their residuals by ordinary least squares, but
// at least leastVariance times the former. Start values and bounds are relative to
// it.
func (m *model) targetVariance(s *sample) float64 {
	n, sum := s.n(), 0.0
	var ols *mean.GLS
	h := m.basis.Evaluate(s.points)
	if len(m.basis) > 0 && !m.meanFree {
		// An H too ill-conditioned for this is an error of the evaluation.
		ols, _ = mean.NewGLS(h, h, n)
	}
	for first := 0; first < len(s.targets); first += n {
		y := s.targets[first : first+n]
		variance := meanSquare(y)
		if ols != nil {
			rest := slices.Clone(y)
			for j, beta := range ols.Coefficients(y) {
				floats.AddScaled(rest, -beta, h[j*n:(j+1)*n])
			}
			variance = max(floats.Dot(rest, rest)/float64(n), leastVariance*variance)
		}
		sum += variance
	}
	return sum / float64(s.t())
}

// leastVariance keeps the start values away from zero if the mean explains the
// targets exactly.
const leastVariance = 1e-8

// meanSquare returns the variance of v, or 1 if that is 0.
func meanSquare(v []float64) float64 {
	mean, sum := 0.0, 0.0
	for _, x := range v {
		mean += x
	}
	mean /= float64(len(v))
	for _, x := range v {
		sum += (x - mean) * (x - mean)
	}
	if sum == 0 {
		return 1
	}
	return sum / float64(len(v))
}

package problem

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"

	"gpfit/fit/internal/spectrum"
	"gpfit/kernel"
	"gpfit/mean"
)

// Model holds the covariance function and the mean function to fit to a sample.
type Model struct {
	expr    kernel.Expr
	program *kernel.Program
	// Terms are the terms of the outermost sum.
	Terms []kernel.Term
	Mean  mean.Expr
	Basis mean.Basis
	// MeanFree says that the mean's coefficients are parameters of the objective, not
	// found by least squares.
	MeanFree bool
}

// CheckMeanText finds mistakes in the text of Options.Mean before its table is read. Errors are
// [*mean.ParseError].
func CheckMeanText(text string) error { return mean.CheckText((Options{Mean: text}).meanText()) }

// CheckKernelText finds mistakes in the text of Options.Kernel before its table is read. Errors are
// [*kernel.ParseError].
func CheckKernelText(text string) error {
	if text == AutoKernel || text == NoKernel {
		return nil
	}
	return kernel.CheckText(text)
}

// newModel compiles the options' expressions for the columns of a sample.
func newModel(s *Sample, o *resolved) (*Model, error) {
	m := &Model{expr: o.kernel, Mean: o.mean}
	for _, a := range o.Fix {
		if a.Given && a.Value == 0 { // an offset of 0 is a constant of the kernel
			m.expr, _ = kernel.WithZero(m.expr, a.Name)
		}
	}
	var err error
	if m.program, err = kernel.Compile(m.expr, s.Columns); err != nil {
		if len(s.Columns) < s.Data.D {
			// The kernel may name a column that was left out.
			err = fmt.Errorf("%w\n%s", err, s.warnings[len(s.warnings)-1])
		}
		return nil, err
	}
	if m.Terms, err = kernel.Terms(m.expr, s.Columns); err != nil {
		return nil, err
	}
	return m, m.addMean(s, o.MeanFit, o.named())
}

// addMean evaluates the mean function at the points and checks that its coefficients
// are determined.
func (m *Model) addMean(s *Sample, how MeanFit, names []string) (err error) {
	var without []mean.Function
	if m.Mean, m.Basis, without, err = independent(m.Mean, s); err != nil {
		return OptionErrorf("mean", m.Mean.Text(s.Features), "%v", s.named(err))
	}
	if len(without) > 0 {
		names := mean.Basis(without).Names()
		for i, name := range names {
			names[i] = s.Display(name)
		}
		text := "the mean leaves out " + strings.Join(names, ", ") + ": on these rows its other functions give the same"
		if !slices.Contains(s.warnings, text) {
			s.warnings = append(s.warnings, text)
		}
	}
	named := m.namedCoefficient(s, names)
	if s.Data.TargetNames != nil && (named != "" || how == MeanFree) {
		return OptionErrorf("", "", "with several targets, gpfit finds the coefficients of the mean by least squares for each target: they cannot be set, fixed, bounded or free")
	}
	if named != "" && how == MeanGLS {
		return OptionErrorf("", "", "%s is a coefficient of the mean, which option mean-fit gls finds by least squares: leave out one of the two", named)
	}
	m.MeanFree = named != "" || how == MeanFree
	return nil
}

// independent returns a mean function and its basis without lines and powers of columns that are linear combinations of other
// functions. The higher power goes first: what is left spans the same.
func independent(e mean.Expr, s *Sample) (left mean.Expr, basis mean.Basis, without []mean.Function, err error) {
	for {
		if basis, err = basisOf(e, s); err == nil {
			err = basis.Determined(s.Points)
		}
		rank, ok := errors.AsType[*mean.RankError](err)
		if !ok {
			return e, basis, without, err
		}
		var same []mean.Function
		for _, name := range append([]string{rank.Name}, rank.Of...) {
			for _, f := range basis {
				if f.Name() == name && (f.Group == mean.Linear || f.Group == mean.Power) {
					same = append(same, f)
				}
			}
		}
		if len(same) == 0 || same[0].Name() != rank.Name {
			return e, basis, without, err
		}
		f := slices.MaxFunc(same, func(a, b mean.Function) int { return a.Index - b.Index })
		e, without = e.Without(f, s.Columns), append(without, f)
	}
}

// basisOf returns the basis of a mean function on a sample, in scaled units.
func basisOf(e mean.Expr, s *Sample) (mean.Basis, error) {
	basis, err := e.Basis(s.Points, s.Columns)
	return basis.Standardized(s.Scalings[0].XMean, s.Scalings[0].XScale), err
}

// underTwoSteps is the share of two steps below which a period has too few rows; months differ.
const underTwoSteps = 0.99

// warnAliases warns of waves of a mean with a period of less than two steps between rows, in which the rows show a longer wave.
func warnAliases(e mean.Expr, s *Sample) {
	if !strings.Contains(e.String(), "seasonal") {
		return
	}
	basis, err := basisOf(e, s)
	if err != nil {
		return // an error later on
	}
	warned := map[int]bool{}
	for _, f := range basis {
		if f.Period == 0 || warned[f.Column] {
			continue
		}
		if step := spectrum.Step(s.Points.Column(f.Column)) * s.Scalings[0].XScale[f.Column]; f.Period < underTwoSteps*2*step {
			warned[f.Column] = true
			s.warnings = append(s.warnings, fmt.Sprintf("the mean has a wave of period %.5g along %q, less than two steps of %.5g between rows, which show a longer wave in its place: predictions between them are arbitrary", f.Period, s.Features[s.Columns[f.Column]], step))
		}
	}
}

// rowsByCoefficient is the number of rows for each coefficient from which a fit considers a linear mean by
// itself. With fewer BIC, which counts on many rows, takes coefficients that fit the noise: on 40 rows of 30
// columns the predictions were up to four times as wrong. A mean that leaves nothing needs moreRows more rows than
// coefficients.
const rowsByCoefficient, moreRows = 4, 2

// LinearMean returns the text of a mean that is linear in the columns of a sample, and the names of the
// columns that it leaves out: linear combinations of others. Indicators of categories have no part in it unless it is exact:
// a coefficient of each says nothing about a category that the rows lack. The text is empty if the options
// give a mean or there are too few rows for a linear one. Fewer do if it is exact: it leaves only rounding of the
// targets.
func LinearMean(o Options, s *Sample) (text string, without []string, exact bool) {
	if !o.AutoMean() {
		return "", nil, false
	}
	sources := s.Data.Encoding.Sources()
	numbers := slices.DeleteFunc(slices.Clone(s.Columns), func(d int) bool { return sources != nil && s.Data.Encoding.Columns[sources[d]].Width() > 1 })
	e, left, exact := linearIn(slices.Clone(s.Columns), s)
	other := func(d int) bool { return !slices.Contains(numbers, d) }
	if !exact && len(numbers) < len(s.Columns) && (e == nil || e[0].Dims == nil || slices.ContainsFunc(e[0].Dims, other)) {
		e, left, exact = linearIn(numbers, s)
	}
	if e == nil {
		return "", nil, false
	}
	for _, f := range left {
		without = append(without, s.Features.Label(f.Label))
	}
	return e.Text(s.Features), without, exact
}

// linearIn returns the linear mean in the given features, and what it leaves out; nil if there is none.
func linearIn(dims []int, s *Sample) (e mean.Expr, left []mean.Function, exact bool) {
	if len(dims) == 0 {
		return nil, nil, false
	}
	e = mean.Expr{{Kind: "linear"}}
	if len(dims) < len(s.Columns) {
		e[0].Dims = dims
	}
	e, basis, left, err := independent(e, s)
	if err != nil || len(basis) < 2 {
		return nil, nil, false
	}
	exact = s.N() >= len(basis)+moreRows && explains(basis, s)
	if !exact && s.N() < rowsByCoefficient*(1+len(s.Columns)) {
		return nil, nil, false
	}
	return e, left, exact
}

// namedCoefficient returns the first of the names that is a coefficient of the mean, or a
// group of them; "" if there is none.
func (m *Model) namedCoefficient(s *Sample, names []string) string {
	k := slices.IndexFunc(names, func(name string) bool {
		return slices.ContainsFunc(m.Basis, func(f mean.Function) bool { return f.Group == name || f.Name() == s.indexed(name) })
	})
	if k < 0 {
		return ""
	}
	return names[k]
}

// DeterminedBy reports whether a sample's rows determine the coefficients of a mean
// found by least squares. Too few rows may not.
func (m *Model) DeterminedBy(s *Sample) bool {
	return m.MeanFree || m.Basis.Determined(s.Points) == nil
}

// TargetVariance returns the variance that kernel and noise have to explain, in scaled units, as
// the mean over the targets. It is the variance of the targets or, if least squares find the mean,
// of their residuals by ordinary least squares, but at least leastVariance times the former. Start
// values and bounds are relative to it.
func (m *Model) TargetVariance(s *Sample) (mean float64) {
	whole, left := variances(m.fitted(), s)
	for t := range whole {
		mean += max(left[t], leastVariance*whole[t])
	}
	return mean / float64(len(whole))
}

// leastNoise returns the default lower bound of the noise variance, a share of the targets' variance.
func (m *Model) leastNoise(s *Sample) float64 {
	whole, _ := variances(nil, s)
	return noiseLo * max(m.TargetVariance(s), floats.Sum(whole)/float64(len(whole)))
}

// Explains reports whether a mean found by least squares leaves only rounding of the targets, which vary.
func (m *Model) Explains(s *Sample) bool { return len(m.fitted()) > 1 && explains(m.fitted(), s) }

// fitted returns the functions whose coefficients least squares find.
func (m *Model) fitted() mean.Basis {
	if m.MeanFree {
		return nil
	}
	return m.Basis
}

// rounded is the standard deviation of what counts as rounding of targets, in units of theirs. Tables with numbers of
// single precision have so much.
const rounded = 1e-7

// explains reports whether ordinary least squares leave only rounding of each target.
func explains(basis mean.Basis, s *Sample) bool {
	whole, left := variances(basis, s)
	for t := range whole {
		if !(left[t] <= rounded*rounded*whole[t]) {
			return false
		}
	}
	return true
}

// variances returns the variance of each target in scaled units, and of what ordinary least squares leave of it.
func variances(basis mean.Basis, s *Sample) (whole, left []float64) {
	n := s.N()
	var ols *mean.GLS
	h := basis.Evaluate(s.Points)
	if len(basis) > 0 {
		// An H too ill-conditioned for this is an error of the evaluation.
		ols, _ = mean.NewGLS(h, h, n)
	}
	for first := 0; first < len(s.Targets); first += n {
		y := typical(s, s.Targets[first:first+n])
		variance := MeanSquare(y)
		whole, left = append(whole, variance), append(left, variance)
		if ols == nil {
			continue
		}
		rest := slices.Clone(y)
		for range 2 { // the second time if the first leaves few digits
			for j, beta := range ols.Coefficients(rest) {
				floats.AddScaled(rest, -beta, h[j*n:(j+1)*n])
			}
			if left[len(left)-1] = floats.Dot(rest, rest) / float64(n); left[len(left)-1] > leastVariance*variance {
				break
			}
		}
	}
	return whole, left
}

// leastVariance keeps the start values away from zero if the mean explains the targets exactly.
const leastVariance = 1e-8

// MeanSquare returns the variance of v, or 1 if that is 0.
func MeanSquare(v []float64) float64 {
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

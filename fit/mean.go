package fit

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"gpfit/gp"
	"gpfit/graph"
	"gpfit/mean"
)

// MeanFit says how the coefficients of the mean function are found.
type MeanFit string

// The choices for --mean-fit. MeanAuto is the default: MeanFree if --set,
// --fix, --bounds or a prior names a coefficient, MeanGLS otherwise.
const (
	MeanAuto MeanFit = ""
	// MeanGLS takes those of largest likelihood at the other parameters, by
	// generalised least squares within each evaluation. Predictions have their
	// uncertainty in them.
	MeanGLS MeanFit = "gls"
	// MeanFree makes them parameters of the objective.
	MeanFree MeanFit = "free"
)

// prepareMean puts the mean function on the points and checks that its
// coefficients are determined.
func (t *Task) prepareMean() error {
	var err error
	if t.mean, err = mean.Parse(t.opts.Mean); err != nil {
		return err
	}
	if t.basis, err = t.mean.Basis(t.points, t.columns); err == nil {
		err = t.basis.CheckRank(t.basis.Evaluate(t.points))
	}
	if err != nil {
		return &OptionError{"--mean " + t.mean.String() + ": " + err.Error() + t.columnsOf(err)}
	}
	named := t.namedCoefficient()
	if t.data.TargetNames != nil && (named != "" || t.opts.MeanFit == MeanFree) {
		return optionErrorf("with several targets the coefficients of the mean are found by least squares, for each of them: they cannot be set, fixed, bounded or free")
	}
	switch t.opts.MeanFit {
	case MeanAuto:
		t.meanFree = named != ""
	case MeanFree:
		t.meanFree = true
	case MeanGLS:
		if named != "" {
			return optionErrorf("%s is a coefficient of the mean, which --mean-fit gls finds by least squares: leave out one of the two", named)
		}
	default:
		return optionErrorf("--mean-fit %q: must be gls or free", t.opts.MeanFit)
	}
	return nil
}

// columnsOf names the columns of the functions that a rank error is about.
func (t *Task) columnsOf(err error) string {
	var re *mean.RankError
	if !errors.As(err, &re) {
		return ""
	}
	var words []string
	for _, f := range t.basis {
		word := fmt.Sprintf("column %d is %q", f.Label, t.data.FeatureNames[f.Label])
		if f.Group != mean.Constant && (f.Name() == re.Name || slices.Contains(re.Of, f.Name())) && !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	if words == nil {
		return ""
	}
	return " (" + strings.Join(words, ", ") + ")"
}

// namedCoefficient returns a coefficient of the mean, or a group of them, that
// an option names.
func (t *Task) namedCoefficient() string {
	is := func(name string) bool {
		return slices.ContainsFunc(t.basis, func(f mean.Function) bool { return f.Group == name || f.Name() == name })
	}
	for _, a := range slices.Concat(t.opts.Set, t.opts.Fix) {
		if is(a.Name) {
			return a.Name
		}
	}
	for _, b := range t.opts.Bounds {
		if is(b.Name) {
			return b.Name
		}
	}
	for _, p := range t.opts.Priors {
		if is(p.Name) {
			return p.Name
		}
	}
	return ""
}

// meanParameters adds the coefficients if they are parameters: the constant
// begins at the targets' mean, the others at zero.
func (t *Task) meanParameters() {
	if !t.meanFree {
		return
	}
	for _, f := range t.basis {
		p := parameter{name: f.Name(), group: f.Group, lo: math.Inf(-1), hi: math.Inf(1)}
		if f.Group == mean.Constant {
			for _, v := range t.targets {
				p.start += v / float64(len(t.targets))
			}
		}
		t.params = append(t.params, p)
	}
}

// coefficients returns the target's β at the point z, which obj has just evaluated, and
// their covariance if they are by least squares.
func (t *Task) coefficients(obj *graph.Objective, z []float64) (beta, covariance []float64) {
	if !t.meanFree {
		if beta, covariance = obj.Mean(); beta != nil {
			q := len(t.basis)
			beta = beta[t.target*q : (t.target+1)*q]
		}
		return beta, covariance
	}
	for i, p := range t.params {
		if slices.ContainsFunc(t.basis, func(f mean.Function) bool { return f.Group == p.group }) {
			beta = append(beta, z[i])
		}
	}
	return beta, nil
}

// modelMean puts the mean function into a model.
func (t *Task) modelMean(m *gp.Model, obj *graph.Objective, z []float64) {
	m.Mean = gp.Mean{Text: t.mean.String(), Basis: t.basis, LeastSquares: len(t.basis) > 0 && !t.meanFree}
	m.Mean.Coefficients, _ = t.coefficients(obj, z)
}

// Coefficient is one of the mean function's, in scaled and in original units.
// In original units it belongs to the same function of the original columns;
// the constant of the mean takes up the shifts.
type Coefficient struct {
	Name          string  `json:"name"`
	Value         float64 `json:"value"`
	OriginalUnits float64 `json:"original_units"`
	// The standard errors are the square roots of the diagonal of (HᵀΣ⁻¹H)⁻¹,
	// with the other parameters held. There are none for coefficients that are
	// parameters.
	StandardError              *float64 `json:"standard_error,omitempty"`
	StandardErrorOriginalUnits *float64 `json:"standard_error_original_units,omitempty"`
	// Centre and Width are those of a bump, in original units.
	Centre *float64 `json:"centre_original_units,omitempty"`
	Width  *float64 `json:"width_original_units,omitempty"`
}

// reportMean adds the mean function to a report.
func (t *Task) reportMean(r *Report, obj *graph.Objective, z []float64) {
	r.Mean = t.mean.String()
	beta, covariance := t.coefficients(obj, z)
	if len(beta) == 0 {
		return
	}
	r.MeanFit = MeanGLS
	if t.meanFree {
		r.MeanFit = MeanFree
	}
	q, s := len(beta), t.scaling
	toOriginal := t.basis.Original(s.XMean, s.XScale)
	for j, f := range t.basis {
		row := toOriginal[j*q : (j+1)*q]
		c := Coefficient{Name: f.Name(), Value: beta[j]}
		for k, v := range row {
			c.OriginalUnits += s.YScale * v * beta[k]
		}
		if f.Group == mean.Constant {
			c.OriginalUnits += s.YMean
		}
		if covariance != nil {
			scaled, original := math.Sqrt(covariance[j*q+j]), s.YScale*math.Sqrt(quadratic(covariance, row))
			c.StandardError, c.StandardErrorOriginalUnits = &scaled, &original
		}
		if f.Group == mean.Bump {
			centre, width := f.Centre*s.XScale[f.Column]+s.XMean[f.Column], f.Width*s.XScale[f.Column]
			c.Centre, c.Width = &centre, &width
		}
		r.MeanCoefficients = append(r.MeanCoefficients, c)
		r.Parameters[c.Name], r.ParametersOriginalUnits[c.Name] = c.Value, c.OriginalUnits
		if t.meanFree {
			r.NamesOriginal = append(r.NamesOriginal, c.Name)
		}
	}
}

// quadratic is vᵀCv, which rounding could take below zero.
func quadratic(c, v []float64) float64 {
	sum := 0.0
	for j, a := range v {
		for k, b := range v {
			sum += a * c[j*len(v)+k] * b
		}
	}
	return max(sum, 0)
}

// isCondition says whether the mean's coefficients could not be found.
func isCondition(err error) bool {
	var e *mean.ConditionError
	return errors.As(err, &e)
}

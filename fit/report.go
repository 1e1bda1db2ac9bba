package fit

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gpfit/graph"
	"gpfit/hyperopt"
)

// SchemaVersion is the version of [Report] as JSON.
const SchemaVersion = 1

// Report is the result of a fit or an evaluation.
type Report struct {
	Type          string `json:"type"`
	SchemaVersion int    `json:"schema_version"`
	// N and D count training rows and columns in use.
	N      int    `json:"n"`
	D      int    `json:"d"`
	Kernel string `json:"kernel"`
	Mean   string `json:"mean"`
	Device string `json:"device"`
	// MeanFit says how the mean's coefficients were found; they are among
	// Parameters, too.
	MeanFit          MeanFit       `json:"mean_fit,omitempty"`
	MeanCoefficients []Coefficient `json:"mean_coefficients,omitempty"`
	// Targets are the parts of several targets: NLML, its terms and
	// NLMLOriginalUnits are sums over them.
	Targets []TargetReport `json:"targets,omitempty"`
	// NLML is that of the scaled problem, the sum of its three terms;
	// NLMLOriginalUnits that of the original targets, n·log(scale of y) more.
	NLML              float64 `json:"nlml"`
	NLMLOriginalUnits float64 `json:"nlml_original_units"`
	DataFit           float64 `json:"data_fit"`
	Complexity        float64 `json:"complexity"`
	Constant          float64 `json:"constant"`
	// Objective is what was minimised, or evaluated: ObjectiveName says what it
	// is the sum of, NegLogPrior is −log density of the priors in Priors, in
	// natural units of the scaled problem, without a Jacobian.
	Objective     float64           `json:"objective"`
	ObjectiveName string            `json:"objective_name"`
	NegLogPrior   *float64          `json:"neg_log_prior,omitempty"`
	Priors        map[string]string `json:"priors,omitempty"`
	// Jitter was added to the diagonal, in scaled units; 0 unless allowed.
	Jitter float64 `json:"jitter"`
	// Residual is max ‖ΣΣ⁻¹e − e‖∞ on sampled columns, with Σ formed anew;
	// checked on a GPU from 40,000 rows on.
	Residual *float64 `json:"residual,omitempty"`
	// Parameters are natural values of the scaled problem. GradientLog is
	// ∂objective/∂log parameter (∂objective/∂coefficient for the mean's), by
	// free parameters; Tied says whose value the others take.
	Parameters              map[string]float64 `json:"parameters"`
	Tied                    map[string]string  `json:"tied,omitempty"`
	ParametersOriginalUnits map[string]float64 `json:"parameters_original_units"`
	GradientLog             map[string]float64 `json:"gradient_log,omitempty"`
	Evaluations             Evaluations        `json:"evaluations"`
	Seconds                 float64            `json:"seconds"`
	// EvaluationSeconds is the part of Seconds in evaluations, summed over
	// devices; after a fit.
	EvaluationSeconds float64 `json:"evaluation_seconds,omitempty"`
	Status            string  `json:"status"`
	// The rest is there after a fit.
	GradientNorm   *float64      `json:"gradient_norm,omitempty"`
	RelativeChange *float64      `json:"relative_change,omitempty"`
	Iterations     int           `json:"iterations,omitempty"`
	Seed           *uint64       `json:"seed,omitempty"`
	Starts         []StartReport `json:"starts,omitempty"`
	// Path is there if the fit went from coarse to fine; its last step is over
	// all rows.
	Path []StageReport `json:"path,omitempty"`
	// Optima are the distinct ones that the starts came to, best first; there
	// with restarts.
	Optima    []Optimum   `json:"optima,omitempty"`
	AtBound   []string    `json:"at_bound,omitempty"`
	StdErrors *StdErrors  `json:"std_errors,omitempty"`
	Scores    Scores      `json:"scores,omitzero"`
	Test      *TestScores `json:"test,omitempty"`
	Warnings  []string    `json:"warnings"`
	// ModelFile is where the model was written.
	ModelFile string `json:"model_file,omitempty"`

	// Names lists the parameters in order, NamesOriginal those of the original
	// units.
	Names         []string `json:"-"`
	NamesOriginal []string `json:"-"`
}

// Evaluations counts evaluations; those at full size are given apart.
type Evaluations struct {
	Value            int `json:"value"`
	Gradient         int `json:"gradient"`
	FullSizeValue    int `json:"full_size_value"`
	FullSizeGradient int `json:"full_size_gradient"`
	// Infeasible counts trials with a covariance that was not positive
	// definite.
	Infeasible int `json:"infeasible"`
}

func (e *Evaluations) add(o graph.Evaluations) {
	e.Value += o.Value
	e.Gradient += o.Gradient
	e.FullSizeValue += o.Value
	e.FullSizeGradient += o.Gradient
}

// StartReport is one start of the optimiser. NLML is its objective where that
// is the NLML.
type StartReport struct {
	Objective  *float64 `json:"objective"`
	NLML       *float64 `json:"nlml,omitempty"`
	Status     string   `json:"status"`
	Iterations int      `json:"iterations"`
	Error      string   `json:"error,omitempty"`
	Best       bool     `json:"best"`
}

// TestScores are those of held-out rows, in original units and in units of the
// training targets' standard deviation.
type TestScores struct {
	N int `json:"n"`
	// RMSE is the root mean squared error of the mean.
	RMSE             float64 `json:"rmse"`
	RMSEStandardized float64 `json:"rmse_standardized"`
	// NLPD is the mean negative log predictive density of an observation.
	NLPD             float64 `json:"nlpd"`
	NLPDStandardized float64 `json:"nlpd_standardized"`
	// Coverage95 is the share of rows within their 95 % interval.
	Coverage95 float64 `json:"coverage95"`
}

func (t *Task) report(s *session, z, grad []float64) Report {
	terms := s.obj.Terms()
	r := Report{
		SchemaVersion: SchemaVersion, N: t.N(), D: t.D(), Kernel: t.program.Text, Device: s.info.Name,
		NLML: terms.NLML(), DataFit: terms.DataFit, Complexity: terms.Complexity, Constant: terms.Constant, Jitter: terms.Jitter,
		Parameters: map[string]float64{}, Warnings: append([]string{}, t.warnings...),
	}
	r.Evaluations.add(s.evaluations())
	r.Warnings = append(r.Warnings, s.warnings...)
	if grad != nil {
		r.GradientLog = map[string]float64{}
	}
	values := t.values(z)
	for i, e := range t.elements {
		r.Names = append(r.Names, e.name)
		r.Parameters[e.name] = values[i]
		if grad != nil && e.source == "" {
			r.GradientLog[e.name] = grad[e.index]
		}
	}
	t.reportObjective(&r, terms)
	if terms.Jitter > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("a jitter of %.3g was added to the diagonal, as --max-jitter allows", terms.Jitter))
	}
	t.reportTargets(&r, s.obj, z, values)
	return r
}

// originalUnits converts every parameter, by [kernel.Param.Units]:
//
//   - lengthscales and periods take the scale of their column, one that serves
//     several columns has a value for each of them in original units;
//   - signal variances take the square of the target's scale. That of a product
//     with one linear leaf is divided by the square of the column's as well: it
//     is then the prior variance of a slope, one for every column;
//   - lengthscales of linear(ard) are the inverse of such a slope's standard
//     deviation; those of poly(ard, degree p) and its offset take the p-th part of
//     the target's units;
//   - α, the lengthscale of periodic and the offset of poly have no units and stay
//     as they are: linear, poly and the offset speak of the inputs as they were
//     standardised, centred on their means.
func (t *Task) originalUnits(r *Report, values []float64) {
	add := func(name string, v float64) {
		r.NamesOriginal = append(r.NamesOriginal, name)
		r.ParametersOriginalUnits[name] = v
	}
	s := t.scaling
	square := s.YScale * s.YScale
	for _, p := range t.program.Params {
		target := scalePower(s.YScale, p.Units.Target)
		at := func(i, c int) float64 {
			return values[p.Offset+i] * target * scalePower(s.XScale[c], p.Units.Input)
		}
		switch names := p.ElementNames(); {
		case p.Units.Input == 0:
			for i, name := range names {
				add(name, values[p.Offset+i]*target)
			}
		case p.Vector || len(p.Dims) == 1:
			for i, name := range names {
				add(name, at(i, p.Dims[i]))
			}
		default:
			for _, c := range p.Dims {
				add(p.Name+"["+strconv.Itoa(t.columns[c])+"]", at(0, c))
			}
		}
	}
	for i, p := range t.elements {
		if p.group == graph.NoiseVariance {
			add(p.name, values[i]*square)
		}
	}
}

// scalePower returns x^p, the powers in use exactly.
func scalePower(x, p float64) float64 {
	switch p {
	case 0:
		return 1
	case 1:
		return x
	case 2:
		return x * x
	case -1:
		return 1 / x
	case -2:
		return 1 / (x * x)
	}
	return math.Pow(x, p)
}

// Finite returns a pointer to v, or nil if JSON has no number for it.
func Finite(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

// addResult adds what the optimiser says.
func (r *Report) addResult(res *hyperopt.Result) {
	r.Status = res.Status.String()
	r.GradientNorm, r.RelativeChange = Finite(res.GradientNorm), Finite(res.RelativeChange)
	r.Iterations = res.Iterations
	r.Evaluations.Infeasible = res.Evaluations.Infeasible
	r.Seed = &res.Seed
	for i, s := range res.Starts {
		report := StartReport{Objective: Finite(s.F), Status: s.Status.String(), Iterations: s.Iterations, Best: i == res.BestStart}
		if r.ObjectiveName == string(ObjectiveNLML) {
			report.NLML = report.Objective
		}
		if s.Err != nil {
			report.Error = s.Err.Error()
		}
		r.Starts = append(r.Starts, report)
	}
	for _, b := range res.AtBound {
		r.AtBound = append(r.AtBound, b.Name)
	}
	r.Warnings = append(r.Warnings, res.Warnings...)
}

// Text prints the report for people.
func (r *Report) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-22s %s\n", "kernel", r.Kernel)
	if r.MeanFit != "" {
		fmt.Fprintf(&b, "%-22s %s\n", "mean", r.Mean)
	}
	fmt.Fprintf(&b, "%-22s %d rows, %d columns, on %s\n", "training data", r.N, r.D, r.Device)
	fmt.Fprintf(&b, "\n%-22s %14.6f   = data fit %.6f + complexity %.6f + constant %.6f\n", "NLML", r.NLML, r.DataFit, r.Complexity, r.Constant)
	fmt.Fprintf(&b, "%-22s %14.6f\n", "NLML, original units", r.NLMLOriginalUnits)
	r.writeObjective(&b)
	if r.Residual != nil {
		fmt.Fprintf(&b, "%-22s %14.2g\n", "residual of the factor", *r.Residual)
	}
	r.writeParameters(&b)
	r.writeStdErrors(&b)
	r.writeMean(&b)
	r.writeTargets(&b)
	r.writeScores(&b)
	fmt.Fprintf(&b, "\n%-22s %s%s", "status", r.Status, r.estimate())
	if r.GradientNorm != nil {
		fmt.Fprintf(&b, ", largest gradient component %.2g", *r.GradientNorm)
	}
	if r.RelativeChange != nil {
		fmt.Fprintf(&b, ", last relative change %.2g", *r.RelativeChange)
	}
	fmt.Fprintf(&b, "\n%-22s %d values, %d gradients", "evaluations", r.Evaluations.Value, r.Evaluations.Gradient)
	if len(r.Starts) > 1 {
		fmt.Fprintf(&b, ", %d starts", len(r.Starts))
	}
	fmt.Fprintf(&b, "\n%-22s %.2f\n", "seconds", r.Seconds)
	if len(r.Starts) > 1 {
		fmt.Fprintf(&b, "\nstart  %10s  status\n", r.objectiveLabel())
		for i, s := range r.Starts {
			value, mark := "-", ""
			if s.Objective != nil {
				value = fmt.Sprintf("%.4f", *s.Objective)
			}
			if s.Best {
				mark = "  (best)"
			}
			fmt.Fprintf(&b, "%5d  %10s  %s%s\n", i, value, s.Status, mark)
		}
	}
	if len(r.Optima) > 0 {
		fmt.Fprintf(&b, "\noptimum  %10s  starts that led there\n", objectiveLabel(r.ObjectiveName))
		for i, o := range r.Optima {
			mark := ""
			switch {
			case o.Rows > 0:
				mark = fmt.Sprintf("  (dropped on %d rows)", o.Rows)
			case o.Dropped:
				mark = "  (dropped on the way)"
			}
			fmt.Fprintf(&b, "%7d  %10.4f  %d%s\n", i, o.Objective, o.Starts, mark)
		}
	}
	if len(r.Path) > 0 {
		fmt.Fprintf(&b, "\n  rows  step     starts  %12s  values  gradients  seconds\n", objectiveLabel(r.ObjectiveName))
		for _, s := range r.Path {
			fmt.Fprintf(&b, "%6d  %-8s %6d  %12.4f  %6d  %9d  %7.2f\n", s.Rows, s.Step, s.Starts, s.Objective, s.Value, s.Gradient, s.Seconds)
		}
	}
	if r.Test != nil {
		fmt.Fprintf(&b, "\nheld-out rows (%d)     original units  standardized\n", r.Test.N)
		fmt.Fprintf(&b, "%-20s %14.6g %13.4f\n", "  RMSE", r.Test.RMSE, r.Test.RMSEStandardized)
		fmt.Fprintf(&b, "%-20s %14.6g %13.4f\n", "  NLPD", r.Test.NLPD, r.Test.NLPDStandardized)
		fmt.Fprintf(&b, "%-20s %13.1f %%\n", "  in the 95 % interval", 100*r.Test.Coverage95)
	}
	return b.String()
}

// writeParameters prints one line for every parameter, with its gradient where
// it was evaluated.
func (r *Report) writeParameters(b *strings.Builder) {
	width := 20
	for _, name := range append(append([]string(nil), r.Names...), r.NamesOriginal...) {
		width = max(width, len(name))
	}
	fmt.Fprintf(b, "\n%-*s  %14s  %14s", width, "parameter", "scaled", "original units")
	if r.GradientLog != nil {
		fmt.Fprintf(b, "  %14s", "∂"+r.objectiveLabel()+"/∂log")
	}
	b.WriteByte('\n')
	shown := map[string]bool{}
	for _, name := range r.Names {
		shown[name] = true
		fmt.Fprintf(b, "%-*s  %14.6g", width, name, r.Parameters[name])
		fmt.Fprintf(b, "  %14s", r.originalText(name))
		if source, ok := r.Tied[name]; ok {
			fmt.Fprintf(b, "  tied to %s", source)
		} else if g, ok := r.GradientLog[name]; ok {
			fmt.Fprintf(b, "  %14.3g", g)
		}
		b.WriteByte('\n')
		for _, part := range r.NamesOriginal {
			if strings.HasPrefix(part, name+"[") && !shown[part] {
				if _, own := r.Parameters[part]; !own {
					shown[part] = true
					fmt.Fprintf(b, "%-*s  %14s  %14.6g\n", width, "  "+part, "", r.ParametersOriginalUnits[part])
				}
			}
		}
	}
}

// originalText is a parameter in original units, or where to find it: below, for
// each column or target.
func (r *Report) originalText(name string) string {
	isPart := func(other string) bool { return other == name || strings.HasPrefix(other, name+"[") }
	switch v, ok := r.ParametersOriginalUnits[name]; {
	case ok:
		return fmt.Sprintf("%.6g", v)
	case r.Targets != nil && slices.ContainsFunc(r.Targets[0].names, isPart):
		return "by target:"
	case slices.ContainsFunc(r.NamesOriginal, isPart):
		return "by column:"
	}
	return ""
}

// writeMean prints the mean's coefficients that were found by least squares;
// others are among the parameters.
func (r *Report) writeMean(b *strings.Builder) {
	if r.MeanFit != MeanGLS || len(r.MeanCoefficients) == 0 {
		return
	}
	width := 20
	for _, c := range r.MeanCoefficients {
		width = max(width, len(c.Name))
	}
	fmt.Fprintf(b, "\n%-*s  %14s  %14s  %14s  %14s\n", width, "mean coefficient", "scaled", "std. error", "original units", "std. error")
	for _, c := range r.MeanCoefficients {
		fmt.Fprintf(b, "%-*s  %14.6g  %14.3g  %14.6g  %14.3g", width, c.Name, c.Value, *c.StandardError, c.OriginalUnits, *c.StandardErrorOriginalUnits)
		if c.Centre != nil {
			fmt.Fprintf(b, "  at %.5g, width %.4g", *c.Centre, *c.Width)
		}
		b.WriteByte('\n')
	}
}

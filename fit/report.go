package fit

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"gpfit/graph"
	"gpfit/hyperopt"
	"gpfit/kernel"
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
	// NLML is that of the scaled problem, the sum of its three terms;
	// NLMLOriginalUnits that of the original targets, n·log(scale of y) more.
	NLML              float64 `json:"nlml"`
	NLMLOriginalUnits float64 `json:"nlml_original_units"`
	DataFit           float64 `json:"data_fit"`
	Complexity        float64 `json:"complexity"`
	Constant          float64 `json:"constant"`
	// Jitter was added to the diagonal, in scaled units; 0 unless allowed.
	Jitter float64 `json:"jitter"`
	// Residual is max ‖ΣΣ⁻¹e − e‖∞ on sampled columns, with Σ formed anew;
	// checked on a GPU from 40,000 rows on.
	Residual *float64 `json:"residual,omitempty"`
	// Parameters are natural values of the scaled problem. GradientLog is
	// ∂NLML/∂log parameter (∂NLML/∂coefficient for the mean's).
	Parameters              map[string]float64 `json:"parameters"`
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
	AtBound        []string      `json:"at_bound,omitempty"`
	Test           *TestScores   `json:"test,omitempty"`
	Warnings       []string      `json:"warnings"`
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

// StartReport is one start of the optimiser.
type StartReport struct {
	NLML       *float64 `json:"nlml"`
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
		SchemaVersion: SchemaVersion, N: t.N(), D: t.D(), Kernel: t.program.Text, Mean: string(t.mean()), Device: s.info.Name,
		NLML: terms.NLML(), NLMLOriginalUnits: terms.NLML() + float64(t.N())*math.Log(t.scaling.YScale),
		DataFit: terms.DataFit, Complexity: terms.Complexity, Constant: terms.Constant, Jitter: terms.Jitter,
		Parameters: map[string]float64{}, ParametersOriginalUnits: map[string]float64{},
		Warnings: append([]string{}, t.warnings...),
	}
	r.Evaluations.add(s.evaluations())
	r.Warnings = append(r.Warnings, s.warnings...)
	if grad != nil {
		r.GradientLog = map[string]float64{}
	}
	values := make([]float64, len(z))
	for i, p := range t.params {
		values[i] = p.natural(z[i])
		r.Names = append(r.Names, p.name)
		r.Parameters[p.name] = values[i]
		if grad != nil {
			r.GradientLog[p.name] = grad[i]
		}
	}
	if terms.Jitter > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("a jitter of %.3g was added to the diagonal, as --max-jitter allows", terms.Jitter))
	}
	t.originalUnits(&r, values)
	return r
}

// originalUnits converts every parameter. A lengthscale in scaled units that
// serves several columns has a value for each of them in original units.
func (t *Task) originalUnits(r *Report, values []float64) {
	add := func(name string, v float64) {
		r.NamesOriginal = append(r.NamesOriginal, name)
		r.ParametersOriginalUnits[name] = v
	}
	s := t.scaling
	square := s.YScale * s.YScale
	for _, p := range t.program.Params {
		switch {
		case p.Kind == kernel.Variance:
			add(p.Name, values[p.Offset]*square)
		case p.Vector:
			for i, name := range p.ElementNames() {
				add(name, values[p.Offset+i]*s.XScale[p.Dims[i]])
			}
		case len(p.Dims) == 1:
			add(p.Name, values[p.Offset]*s.XScale[p.Dims[0]])
		default:
			for _, c := range p.Dims {
				add(p.Name+"["+strconv.Itoa(t.columns[c])+"]", values[p.Offset]*s.XScale[c])
			}
		}
	}
	constant := s.YMean
	slope := 0
	for i, p := range t.params {
		switch p.group {
		case graph.NoiseVariance:
			add(p.name, values[i]*square)
		case graph.MeanSlope:
			w := values[i] * s.YScale / s.XScale[slope]
			constant -= w * s.XMean[slope]
			add(p.name, w)
			slope++
		case graph.MeanConst:
			add(p.name, constant+values[i]*s.YScale)
		}
	}
}

// finite returns a pointer to v, or nil if JSON has no number for it.
func finite(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

// addResult adds what the optimiser says.
func (r *Report) addResult(res *hyperopt.Result) {
	r.Status = res.Status.String()
	r.GradientNorm, r.RelativeChange = finite(res.GradientNorm), finite(res.RelativeChange)
	r.Iterations = res.Iterations
	r.Evaluations.Infeasible = res.Evaluations.Infeasible
	r.Seed = &res.Seed
	for i, s := range res.Starts {
		report := StartReport{NLML: finite(s.F), Status: s.Status.String(), Iterations: s.Iterations, Best: i == res.BestStart}
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
	if r.Mean != string(graph.MeanZero) {
		fmt.Fprintf(&b, "%-22s %s\n", "mean", r.Mean)
	}
	fmt.Fprintf(&b, "%-22s %d rows, %d columns, on %s\n", "training data", r.N, r.D, r.Device)
	fmt.Fprintf(&b, "\n%-22s %14.6f   = data fit %.6f + complexity %.6f + constant %.6f\n", "NLML", r.NLML, r.DataFit, r.Complexity, r.Constant)
	fmt.Fprintf(&b, "%-22s %14.6f\n", "NLML, original units", r.NLMLOriginalUnits)
	if r.Residual != nil {
		fmt.Fprintf(&b, "%-22s %14.2g\n", "residual of the factor", *r.Residual)
	}
	r.writeParameters(&b)
	fmt.Fprintf(&b, "\n%-22s %s", "status", r.Status)
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
		b.WriteString("\nstart        NLML  status\n")
		for i, s := range r.Starts {
			nlml, mark := "-", ""
			if s.NLML != nil {
				nlml = fmt.Sprintf("%.4f", *s.NLML)
			}
			if s.Best {
				mark = "  (best)"
			}
			fmt.Fprintf(&b, "%5d  %10s  %s%s\n", i, nlml, s.Status, mark)
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
		fmt.Fprintf(b, "  %14s", "∂NLML/∂log")
	}
	b.WriteByte('\n')
	shown := map[string]bool{}
	for _, name := range r.Names {
		shown[name] = true
		fmt.Fprintf(b, "%-*s  %14.6g", width, name, r.Parameters[name])
		if v, ok := r.ParametersOriginalUnits[name]; ok {
			fmt.Fprintf(b, "  %14.6g", v)
		} else {
			fmt.Fprintf(b, "  %14s", "by column:")
		}
		if g, ok := r.GradientLog[name]; ok {
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

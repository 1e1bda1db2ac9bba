package problem

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"gpfit/kernel"
)

// checkPoints is the number of training rows on which a fit first checks a kernel
// that is not known to be a covariance function.
const checkPoints = 300

// KernelCheckOptions configures [Prepared.CheckKernel].
type KernelCheckOptions struct {
	// Points is the largest number of training rows to use; 0 means 300.
	Points int
	// Around are the parameters of the kernel to check; nil means the start values.
	Around []float64
	// Draws is the number of random parameter vectors to check. Each multiplies these
	// parameters by exp(z/2) with standard normal z.
	Draws int
	// Seed determines the random rows and parameters.
	Seed uint64
}

// KernelReport is the verdict on a kernel. The tags name its fields in JSON.
type KernelReport struct {
	Type          string `json:"type"`
	SchemaVersion int    `json:"schema_version"`
	Kernel        string `json:"kernel"`
	// Points and D are the numbers of rows and columns.
	Points int `json:"points"`
	D      int `json:"d"`
	// OK is true if no check contradicts a covariance function. Verdict states the
	// finding in a sentence.
	OK      bool   `json:"ok"`
	Verdict string `json:"verdict"`
	// Parameters holds the start values, or the other parameters that were asked for, by name, in scaled units.
	Parameters map[string]float64 `json:"parameters"`
	// Checks has one entry for the start values and one for each draw.
	Checks   []KernelCheck `json:"checks"`
	Warnings []string      `json:"warnings"`
	names    []string
	err      *kernel.KernelhoodError
}

// KernelCheck is the result of a check at some parameters.
type KernelCheck struct {
	Parameters         map[string]float64 `json:"parameters"`
	OK                 bool               `json:"ok"`
	Finite             bool               `json:"finite"`
	Asymmetry          float64            `json:"asymmetry"`
	SmallestEigenvalue float64            `json:"smallest_eigenvalue"`
	LargestEigenvalue  float64            `json:"largest_eigenvalue"`
	// Tolerance is how far below 0 rounding explains an eigenvalue.
	Tolerance float64 `json:"tolerance"`
	Verdict   string  `json:"verdict"`
}

// CheckKernel tests on training rows, at the start values and around them, whether
// the kernel can be a covariance function: whether its matrix is symmetric and has no
// negative eigenvalue. Each check takes O(points³) operations.
func (j *Prepared) CheckKernel(o KernelCheckOptions) (*KernelReport, error) {
	rng, s, m, prog := rand.New(rand.NewPCG(o.Seed, 1)), j.Sample, j.Model, j.Program()
	names := prog.Names()
	for i, name := range names {
		names[i] = s.Display(name)
	}
	rows := rng.Perm(s.N())[:min(cmp.Or(o.Points, checkPoints), s.N())]
	slices.Sort(rows)
	x := s.Points.Pick(rows)
	r := &KernelReport{
		Type: "kernel_check", SchemaVersion: 1, Kernel: j.KernelText(), Points: x.N, D: x.D, OK: true, names: names, Warnings: append([]string{}, s.warnings...),
		Verdict: fmt.Sprintf("the kernel is consistent with a covariance function: the matrix of these %d rows is symmetric and positive semidefinite at the start values", x.N),
	}
	if o.Draws > 0 {
		r.Verdict += fmt.Sprintf(" and at %d others around them", o.Draws)
	}
	start := o.Around
	if start == nil {
		start = kernelStart(j.Params, prog)
	}
	r.Parameters = byName(r.names, start)
	for draw := range 1 + o.Draws {
		theta := slices.Clone(start)
		if draw > 0 {
			for i := range theta {
				theta[i] *= math.Exp(rng.NormFloat64() / 2)
			}
		}
		h, err := kernel.CheckKernelhood(prog, theta, x)
		if err != nil {
			return nil, err
		}
		if r.add(h, theta); r.err != nil && r.err.Kernelhood == h {
			r.err.Pos = kernel.Culprit(m.expr, s.Features, s.Columns, theta, x)
		}
	}
	return r, nil
}

// add adds a check to the report.
func (r *KernelReport) add(h kernel.Kernelhood, theta []float64) {
	r.Checks = append(r.Checks, KernelCheck{
		Parameters: byName(r.names, theta), OK: h.OK(), Finite: !h.NonFinite, Asymmetry: h.Asymmetry,
		SmallestEigenvalue: h.Smallest, LargestEigenvalue: h.Largest, Tolerance: h.Tolerance, Verdict: h.String(),
	})
	if h.OK() || !r.OK {
		return
	}
	r.OK, r.err = false, &kernel.KernelhoodError{Text: r.Kernel, Kernelhood: h}
	r.Verdict = h.String()
	if len(r.Checks) > 1 {
		r.Verdict += ", at " + r.parameterText(theta)
	}
}

func (r *KernelReport) parameterText(theta []float64) string {
	words := make([]string, len(theta))
	for i, v := range theta {
		words[i] = fmt.Sprintf("%s=%.4g", r.names[i], v)
	}
	return strings.Join(words, ", ")
}

// Err returns a [*kernel.KernelhoodError] unless the report is OK.
func (r *KernelReport) Err() error {
	if r.err == nil {
		return nil
	}
	return r.err
}

// Text returns the report as text for people.
func (r *KernelReport) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-22s %s\n%-22s %d rows, %d columns\n\nparameter              start value\n", "kernel", r.Kernel, "checked on", r.Points, r.D)
	for _, name := range r.names {
		fmt.Fprintf(&b, "  %-20s %11.6g\n", name, r.Parameters[name])
	}
	fmt.Fprintf(&b, "\nparameters       asymmetry  smallest eigenvalue   largest   explained by rounding\n")
	for i, c := range r.Checks {
		what := "start values"
		if i > 0 {
			what = fmt.Sprintf("draw %d", i)
		}
		if !c.Finite {
			fmt.Fprintf(&b, "  %-14s %s\n", what, c.Verdict)
			continue
		}
		fmt.Fprintf(&b, "  %-14s %9.2g %20.3g %9.3g %23.2g\n", what, c.Asymmetry, c.SmallestEigenvalue, c.LargestEigenvalue, -c.Tolerance)
	}
	fmt.Fprintf(&b, "\n%s\n", r.Verdict)
	return b.String()
}

// byName returns the values by name.
func byName(names []string, values []float64) map[string]float64 {
	out := map[string]float64{}
	for i, name := range names {
		out[name] = values[i]
	}
	return out
}

// kernelStart returns the start values of the kernel's parameters, with ties applied.
func kernelStart(p *ParameterList, prog *kernel.Program) []float64 {
	theta := make([]float64, prog.NumParams)
	for i := range theta {
		theta[i] = p.Free[p.All[i].Index].Start
	}
	return theta
}

// checkUnproved checks a kernel that contains a formula or a user-defined family, and returns a finding
// against it, or nil. It is a warning or, if the kernel is required to be a covariance function, an
// error, a [*kernel.KernelhoodError].
func (j *Prepared) checkUnproved() (*kernel.KernelhoodError, error) {
	if !kernel.Unproved(j.Model.expr) {
		return nil, nil
	}
	r, err := j.CheckKernel(KernelCheckOptions{Seed: 1})
	if err != nil || r.OK {
		return nil, err
	}
	if j.Options.RequirePSD {
		return nil, r.err
	}
	j.Params.Warnings = append(j.Params.Warnings, fmt.Sprintf("kernel %s: %s; the standard deviations of the fit may be meaningless", r.Kernel, r.Verdict))
	return r.err, nil
}

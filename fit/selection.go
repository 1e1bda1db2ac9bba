package fit

import (
	"cmp"
	_ "embed"
	"slices"
	"strconv"
	"text/template"

	"gpfit/fit/problem"
	"gpfit/fit/summary"
	"gpfit/internal/textform"
)

// SelectionScore is the score by which kernels are compared; less is better.
type SelectionScore string

// The values for SelectOptions.Score.
const (
	// ByNLML is the negative log marginal likelihood at the fitted parameters.
	ByNLML SelectionScore = "nlml"
	// ByBIC is 2·NLML + p·log n for p fitted parameters (Schwarz 1978), the default.
	// It penalizes kernels with more parameters.
	ByBIC SelectionScore = "bic"
	// ByLOO is the negative leave-one-out log predictive density.
	ByLOO SelectionScore = "loo"
	// ByCV is the negative log predictive density of K-fold cross-validation.
	ByCV SelectionScore = "cv"
)

// SelectionScores returns all scores.
func SelectionScores() []SelectionScore { return []SelectionScore{ByNLML, ByBIC, ByLOO, ByCV} }

// Defaults of [SelectOptions].
const (
	DefaultMaxTerms = 4
	DefaultBudget   = 60
)

// SelectOptions configures [Select]. The zero value compares what a fit with [problem.AutoKernel] compares.
type SelectOptions struct {
	// Kernels are text forms: the kernels to compare or, with Greedy, the leaves to
	// build kernels from. None, or AutoKernel alone, means the models of the automatic choice.
	Kernels []string
	// Score is the score that decides; empty means ByBIC.
	Score SelectionScore
	// Greedy searches for a kernel: from the best leaf on, it tries every kernel one step from
	// the best so far and continues from the best of them while the score improves (Duvenaud,
	// Lloyd, Grosse, Tenenbaum and Ghahramani, Structure discovery in nonparametric regression
	// through compositional kernel search, ICML 2013). A fit starts at the parameters of the
	// kernel before, with new leaves at the best of three scales.
	Greedy bool
	// MaxTerms limits the leaves of a grown kernel, Budget the kernels that a search fits; 0
	// means the default.
	MaxTerms, Budget int
	// CrossValidation applies to all kernels alike.
	CrossValidation problem.CrossValidation
	// OnCandidate, if not nil, is called before each kernel with its number from 0, the number
	// of kernels known so far, and its text.
	OnCandidate func(index, known int, kernel string)
}

func (s SelectOptions) withDefaults() (SelectOptions, error) {
	s.Score = cmp.Or(s.Score, ByBIC)
	switch {
	case !slices.Contains(SelectionScores(), s.Score):
		return s, problem.OptionErrorf("score", strconv.Quote(string(s.Score)), "must be nlml, bic, loo or cv")
	case s.automatic() && s.Greedy:
		return s, problem.OptionErrorf("kernels", "", "a search builds kernels from the given ones; give one or more")
	case s.automatic() && s.Score != ByBIC:
		return s, problem.OptionErrorf("score", string(s.Score), "the automatic choice compares by BIC; give option kernels")
	case s.MaxTerms < 0:
		return s, problem.OptionErrorf("max-terms", strconv.Itoa(s.MaxTerms), "must not be negative")
	case s.Budget < 0:
		return s, problem.OptionErrorf("budget", strconv.Itoa(s.Budget), "must not be negative")
	}
	s.MaxTerms, s.Budget = cmp.Or(s.MaxTerms, DefaultMaxTerms), cmp.Or(s.Budget, DefaultBudget)
	return s, nil
}

// automatic reports whether the fit chooses the kernels to compare.
func (s SelectOptions) automatic() bool {
	return len(s.Kernels) == 0 || len(s.Kernels) == 1 && s.Kernels[0] == problem.AutoKernel
}

// Selection is a comparison of kernels.
type Selection struct {
	Type          string `json:"type"`
	SchemaVersion int    `json:"schema_version"`
	N             int    `json:"n"`
	D             int    `json:"d"`
	// Score is the score that decided. Best is the index of the best candidate; one whose verdict is poor is the best
	// only if all are. Where few rows decided, the first candidate is the chosen model over all rows, the second as it was compared.
	Score      SelectionScore `json:"score"`
	Candidates []Candidate    `json:"candidates"`
	Best       int            `json:"best"`
	// Stopped says why a search ended, or that the comparison was interrupted.
	Stopped string  `json:"stopped,omitempty"`
	Seconds float64 `json:"seconds"`
	// Report describes the best kernel, and Outcome has its model, without memory of a device.
	Report  *summary.Report `json:"report"`
	Outcome *Outcome        `json:"-"`
	// ModelFile is where the model was written.
	ModelFile string `json:"model_file,omitempty"`
}

// Candidate is a kernel and its scores. Scores are nil if the fit failed; LOO is also
// nil if it is undefined.
type Candidate struct {
	Kernel string `json:"kernel"`
	// Mean is the mean function, if that was chosen, too.
	Mean string `json:"mean,omitempty"`
	// Round is 0 for the given kernels, then the step of the search.
	Round int `json:"round"`
	// Parameters is the number of fitted parameters, with coefficients of the mean.
	Parameters int `json:"parameters"`
	// NLML, BIC and LOO refer to the scaled problem, CV to original units.
	NLML *float64 `json:"nlml"`
	BIC  *float64 `json:"bic"`
	LOO  *float64 `json:"loo"`
	CV   *float64 `json:"cv_nlpd"`
	// CVStandardized is CV in units of the targets' standard deviation, CVStdError the standard
	// error of both.
	CVStandardized *float64            `json:"cv_nlpd_standardized"`
	CVStdError     *float64            `json:"cv_nlpd_std_error"`
	Test           *summary.TestScores `json:"test,omitempty"`
	Status         string              `json:"status"`
	// Verdict is the level of the verdict on the cross-validation.
	Verdict     summary.Level  `json:"verdict,omitempty"`
	Error       string         `json:"error,omitempty"`
	Evaluations summary.Counts `json:"evaluations"`
	Seconds     float64        `json:"seconds"`
}

//go:embed selection.tmpl
var selectionTemplate string

var selectionText = textform.Template(selectionTemplate, template.FuncMap{"state": summary.StateText, "model": func(c Candidate) string {
	if c.Mean == "" {
		return c.Kernel
	}
	return c.Kernel + ", mean " + c.Mean
}})

// Text returns the comparison as a table, followed by the best kernel's report.
func (r *Selection) Text() string { return selectionText(r) }

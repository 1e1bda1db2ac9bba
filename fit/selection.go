package fit

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// SelectionScore is what kernels are compared by; less is better.
type SelectionScore string

// The scores that decide.
const (
	// ByNLML is the negative log marginal likelihood at the fitted parameters.
	ByNLML SelectionScore = "nlml"
	// ByBIC is 2·NLML + p·log n for p parameters that were fitted (Schwarz 1978),
	// the default: among kernels with different numbers of parameters it counts
	// their cost.
	ByBIC SelectionScore = "bic"
	// ByLOO is the negative log predictive density of leave-one-out.
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

// SelectOptions say what is compared. All but Kernels have usable zero values.
type SelectOptions struct {
	// Kernels are text forms: those to compare, or with Greedy the leaves to
	// build kernels from.
	Kernels []string
	// Score decides; empty means ByBIC.
	Score SelectionScore
	// Greedy searches: from the best leaf on, it tries every kernel that one
	// step makes of the best so far (see neighbours) and goes on from the best
	// of them while the score improves, after Duvenaud, Lloyd, Grosse,
	// Tenenbaum and Ghahramani, Structure discovery in nonparametric regression
	// through compositional kernel search, ICML 2013. A fit begins at the
	// parameters of the kernel that it was made from, new leaves at the best of
	// three scales.
	Greedy bool
	// MaxTerms bounds the leaves of a grown kernel, Budget the kernels that are
	// fitted in a search; 0 means the defaults.
	MaxTerms, Budget int
	// CrossValidation says how, for all kernels alike. Its OnFold is not called.
	CrossValidation CrossValidation
	// OnCandidate, unless nil, is called before each kernel with its number
	// from 0, how many are known to come, and its text.
	OnCandidate func(index, known int, kernel string)
}

func (s SelectOptions) withDefaults() (SelectOptions, error) {
	if s.Score == "" {
		s.Score = ByBIC
	}
	switch {
	case !slices.Contains(SelectionScores(), s.Score):
		return s, optionErrorf("score", strconv.Quote(string(s.Score)), "must be nlml, bic, loo or cv")
	case len(s.Kernels) == 0:
		return s, optionErrorf("kernels", "", "there are no kernels to compare; give one or more")
	case s.MaxTerms < 0:
		return s, optionErrorf("max-terms", strconv.Itoa(s.MaxTerms), "must not be negative")
	case s.Budget < 0:
		return s, optionErrorf("budget", strconv.Itoa(s.Budget), "must not be negative")
	}
	if s.MaxTerms == 0 {
		s.MaxTerms = DefaultMaxTerms
	}
	if s.Budget == 0 {
		s.Budget = DefaultBudget
	}
	s.CrossValidation.OnFold = nil
	return s, nil
}

// Selection is a comparison of kernels.
type Selection struct {
	Type          string `json:"type"`
	SchemaVersion int    `json:"schema_version"`
	N             int    `json:"n"`
	D             int    `json:"d"`
	// Score decided; Best is the index of the best candidate by it.
	Score      SelectionScore `json:"score"`
	Candidates []Candidate    `json:"candidates"`
	Best       int            `json:"best"`
	// Stopped says why a search ended, or that the comparison was interrupted.
	Stopped string  `json:"stopped,omitempty"`
	Seconds float64 `json:"seconds"`
	// Report is the best kernel's, and Outcome has its model; the device's
	// memory is given back.
	Report  *Report  `json:"report"`
	Outcome *Outcome `json:"-"`
	// ModelFile is where the model was written.
	ModelFile string `json:"model_file,omitempty"`
}

// Candidate is one kernel that was fitted. Scores are nil if that
// failed, and LOO where it is not defined.
type Candidate struct {
	Kernel string `json:"kernel"`
	// Round is 0 for the kernels that were given, then the step of the search.
	Round int `json:"round"`
	// Parameters counts those that were fitted, coefficients of the mean
	// included.
	Parameters int `json:"parameters"`
	// NLML, BIC and LOO are of the scaled problem, CV in original units; see
	// [SelectionScore].
	NLML *float64 `json:"nlml"`
	BIC  *float64 `json:"bic"`
	LOO  *float64 `json:"loo"`
	CV   *float64 `json:"cv_nlpd"`
	// CVStandardized is CV in units of the targets' standard deviation,
	// CVStdError the standard error of both.
	CVStandardized *float64    `json:"cv_nlpd_standardized"`
	CVStdError     *float64    `json:"cv_nlpd_std_error"`
	Test           *TestScores `json:"test,omitempty"`
	Status         string      `json:"status"`
	Error          string      `json:"error,omitempty"`
	Evaluations    Counts      `json:"evaluations"`
	Seconds        float64     `json:"seconds"`
}

// Text prints the comparison as a table, and the best kernel's report.
func (r *Selection) Text() string {
	var b strings.Builder
	width := len("kernel")
	for _, c := range r.Candidates {
		width = max(width, len([]rune(c.Kernel)))
	}
	fmt.Fprintf(&b, "   %-*s  %10s  %12s  %12s  %12s  %17s  %s\n", width, "kernel", "parameters", "NLML", "BIC", "LOO", "CV NLPD", "status")
	for i, c := range r.Candidates {
		mark := " "
		if i == r.Best {
			mark = "*"
		}
		if c.NLML == nil {
			fmt.Fprintf(&b, "%s  %-*s  %10d  %s: %s\n", mark, width, c.Kernel, c.Parameters, c.Status, firstLine(c.Error))
			continue
		}
		loo, cv := "-", "-"
		if c.LOO != nil {
			loo = fmt.Sprintf("%.4f", *c.LOO)
		}
		if c.CVStandardized != nil && c.CVStdError != nil {
			cv = fmt.Sprintf("%8.4f ± %-6.2g", *c.CVStandardized, *c.CVStdError)
		}
		fmt.Fprintf(&b, "%s  %-*s  %10d  %12.4f  %12.4f  %12s  %17s  %s\n", mark, width, c.Kernel, c.Parameters, *c.NLML, *c.BIC, loo, cv, c.Status)
	}
	fmt.Fprintf(&b, "\n* best by %s; NLML, BIC and LOO of the scaled problem, CV NLPD a row in units of the targets' deviation\n", r.Score)
	if r.Stopped != "" {
		fmt.Fprintf(&b, "the search ended: %s\n", r.Stopped)
	}
	b.WriteString("\n")
	b.WriteString(r.Report.Text())
	return b.String()
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

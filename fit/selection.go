package fit

import (
	"fmt"
	"strings"
)

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

func (r *selection) result() *Selection {
	report := &r.outcome.Report
	return &Selection{
		Type: "select", SchemaVersion: SchemaVersion, N: report.N, D: report.D, Score: r.settings.Score,
		Candidates: r.candidates, Best: r.best, Stopped: r.stopped, Report: report, Outcome: r.outcome,
	}
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

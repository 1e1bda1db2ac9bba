package compare

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gpfit/fit/fields"
	"gpfit/fit/summary"
	"gpfit/internal/textform"
	"gpfit/table/feature"
)

// Result is a comparison.
type Result struct {
	Type          string   `json:"type"`
	SchemaVersion int      `json:"schema_version"`
	N             int      `json:"n"`
	Features      []string `json:"features"`
	Target        string   `json:"target"`
	Split         Split    `json:"split"`
	RankBy        RankBy   `json:"ranked_by"`
	// Methods are all methods, the best first, and Verdict says in a sentence which are best.
	Methods []Ranked `json:"methods"`
	Verdict string   `json:"verdict"`
	// Best is the verdict on the scores of the best method; nil without scores.
	Best *summary.Verdict `json:"best,omitempty"`
	// Sizes are the methods by the number of training rows, all rows last; nil unless
	// Options.Sizes asks for them.
	Sizes []Growth `json:"sizes,omitempty"`
	// Models are the files of models, if the command wrote any.
	Models []ModelFile `json:"models,omitempty"`
	// Trials are all fits, in their order.
	Trials   []Trial  `json:"fits"`
	Warnings []string `json:"warnings"`
	// Reading says what was read of the table; nil without one.
	Reading *feature.Reading `json:"reading,omitempty"`
	// Stopped says that the comparison was interrupted, and when.
	Stopped string  `json:"stopped,omitempty"`
	Seconds float64 `json:"seconds"`
	// Curves are the fits over one input, if Options.Curves asks for them.
	Curves *Curves `json:"-"`
}

// ModelFile is the file of the model of a method.
type ModelFile struct {
	Method string `json:"method"`
	File   string `json:"file"`
}

// Growth holds the methods fitted to the same number of training rows, the best first.
type Growth struct {
	Train   int      `json:"n_train"`
	Methods []Ranked `json:"methods"`
}

// result collects what is done.
func (r *runner) result() *Result {
	out := &Result{
		Type: "compare", SchemaVersion: summary.SchemaVersion, N: r.data.N, Features: r.data.FeatureNames, Target: r.data.TargetName,
		Split: r.split, RankBy: r.opts.RankBy, Methods: r.ranking(0), Trials: r.trials, Warnings: r.warnings, Reading: r.data.Reading,
	}
	out.Verdict, out.Best = out.verdict(), out.best()
	for _, m := range r.sizes {
		g := Growth{Train: m, Methods: r.ranking(m)}
		if slices.ContainsFunc(g.Methods, func(e Ranked) bool { return e.Status != Unfinished }) {
			out.Sizes = append(out.Sizes, g)
		}
	}
	if r.opts.Sizes != nil {
		out.Sizes = append(out.Sizes, Growth{Train: r.split.Train, Methods: out.Methods})
	}
	return out
}

// verdict says which method is best, and which are not clearly worse.
func (r *Result) verdict() string {
	var near, worse []string
	for i, e := range r.Methods {
		switch {
		case e.Status != Done || i == 0 || e.Difference == nil:
		case e.Difference.StdError == nil:
			return r.Methods[0].Method + " has the best score, of too few rows or folds for a standard error"
		case e.Difference.clear():
			worse = append(worse, e.Method)
		default:
			near = append(near, e.Method)
		}
	}
	best := r.Methods[0]
	switch {
	case best.Status != Done || len(near)+len(worse) == 0:
		return ""
	case len(near) == 0:
		return fmt.Sprintf("%s is best; all others are clearly worse", best.Method)
	case len(worse) == 0:
		return fmt.Sprintf("%s has the best score, but no other method is clearly worse", best.Method)
	}
	return fmt.Sprintf("%s has the best score; %s %s not clearly worse", best.Method, textform.And(near), map[bool]string{true: "is", false: "are"}[len(near) == 1])
}

// best returns the verdict on the scores of the best method.
func (r *Result) best() *summary.Verdict {
	e := &r.Methods[0]
	if e.Status != Done || e.RMSE == nil || e.RMSEStandardized == nil {
		return nil
	}
	known := func(v *float64) float64 {
		if v == nil {
			return math.NaN()
		}
		return *v
	}
	return summary.Judge([]summary.Evidence{{Rows: summary.HeldOutRows, N: e.Rows, RMSE: *e.RMSE, RMSEStandardized: *e.RMSEStandardized, NLPDStandardized: known(e.NLPDStandardized), Coverage95: known(e.Coverage95)}})
}

// Text returns the comparison as tables for people.
func (r *Result) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d rows, %s, target %s; %s; ranked by %s\n", r.N, textform.Counted(len(r.Features), "column"), r.Target, r.Split, strings.ToUpper(string(r.RankBy)))
	if r.Reading != nil {
		fmt.Fprintf(&b, "table: %s\n", r.Reading.Text())
	}
	b.WriteByte('\n')
	if r.Best != nil {
		lines := strings.Replace(r.Best.Text(), "verdict    ", "best method", 1)
		if r.Verdict != "" {
			lines = "verdict                " + r.Verdict + "\n" + lines
		}
		b.WriteString(lines + "\n\n")
	}
	for i, t := range r.Tables() {
		if i > 0 {
			fmt.Fprintf(&b, "\n%s\n", t.Caption)
		}
		b.WriteString(t.Text())
		if i == 0 {
			b.WriteString("\n" + strings.Join(r.Notes(), "\n") + "\n")
			r.writeFailed(&b)
		}
	}
	if len(r.Sizes) > 0 {
		r.writeFewRows(&b)
	}
	if r.Stopped != "" {
		fmt.Fprintf(&b, "\n%s\n", r.Stopped)
	}
	return b.String()
}

// Tables returns the tables of the comparison: the methods by rank and, with sizes, score and seconds by the number of training rows.
func (r *Result) Tables() []fields.Table {
	t := fields.Of(r.Methods, "rank", "method", "rmse", "training_rmse", "rmse_standardized", "difference", "nlpd", "coverage95")
	t.Column(fields.Head{Text: "seconds"}, func(i int) string { return secondsField.Text(r.Methods[i].Seconds()) })
	for i, e := range r.Methods {
		if e.Status != Done {
			cells := t.Rows[i].Cells
			clear(cells[2:])
			cells[0].Text, cells[2].Text = "-", e.Status
		}
	}
	return append([]fields.Table{t}, r.bySize()...)
}

// Notes explain the first table.
func (r *Result) Notes() []string {
	return []string{
		"training: the RMSE on the rows that the fits learned from",
		fmt.Sprintf("difference: %s minus the %[1]s of the best method, ± standard error%s; *: clearly worse (95 %%)", strings.ToUpper(string(r.RankBy)), r.from()),
	}
}

// writeFailed says why methods failed.
func (r *Result) writeFailed(b *strings.Builder) {
	title := "\nfailed\n"
	for _, e := range r.Methods {
		if e.Status == Failed {
			fmt.Fprintf(b, "%s  %s: %s\n", title, e.Method, textform.FirstLine(e.Error))
			title = ""
		}
	}
}

// from says what the standard errors are from.
func (r *Result) from() string {
	switch {
	case r.Split.Folds > 0:
		return " over the folds"
	case r.Split.Group != "":
		return " over the groups"
	case r.Split.Blocks:
		return " over correlated rows"
	}
	return " over the rows"
}

// String returns the difference with its standard error, and a star if it is clear.
func (d *Difference) String() string {
	switch {
	case d.StdError == nil:
		return fmt.Sprintf("%.4g", d.Value)
	case d.clear():
		return fmt.Sprintf("%.4g ± %.2g *", d.Value, *d.StdError)
	}
	return fmt.Sprintf("%.4g ± %.2g  ", d.Value, *d.StdError)
}

var secondsField = fields.Named("seconds")

// bySize returns the deciding score and the seconds of each method by the number of training rows.
func (r *Result) bySize() (tables []fields.Table) {
	if len(r.Sizes) == 0 {
		return nil
	}
	for _, kind := range []struct {
		title string
		of    func(*Ranked) string
	}{
		{strings.ToUpper(string(r.RankBy)), func(e *Ranked) string { return textform.Optional(r.Score(e), "%.4g") }},
		{"seconds", func(e *Ranked) string { return secondsField.Text(e.Seconds()) }},
	} {
		t := fields.Of(r.Methods, "method")
		t.Caption = kind.title + " by the number of training rows"
		for _, g := range r.Sizes {
			t.Column(fields.Head{Text: strconv.Itoa(g.Train)}, func(i int) string { return g.cell(r.Methods[i].Method, kind.of) })
		}
		tables = append(tables, t)
	}
	return tables
}

// writeFewRows says why methods failed on subsets.
func (r *Result) writeFewRows(b *strings.Builder) {
	seen := map[string]bool{}
	for _, g := range r.Sizes {
		for _, e := range g.Methods {
			if line := fmt.Sprintf("  %s: %s\n", e.Method, textform.FirstLine(e.Error)); e.Status == Failed && g.Train < r.Split.Train && !seen[line] {
				if len(seen) == 0 {
					b.WriteString("\nfailed on few rows\n")
				}
				seen[line] = true
				b.WriteString(line)
			}
		}
	}
}

// cell is the text of a method, or what became of it.
func (g *Growth) cell(method string, of func(*Ranked) string) string {
	i := slices.IndexFunc(g.Methods, func(e Ranked) bool { return e.Method == method })
	if e := &g.Methods[i]; e.Status == Done {
		return of(e)
	}
	return g.Methods[i].Status
}

// Score returns the score of an entry that ranks the methods, nil without one.
func (r *Result) Score(e *Ranked) *float64 { return r.RankBy.of(e) }

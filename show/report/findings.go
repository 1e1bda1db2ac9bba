package report

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat/distuv"

	"gpfit/fit/summary"
	"gpfit/internal/each"
	"gpfit/internal/textform"
	"gpfit/show/page"
)

const (
	// ignored is the relevance below which the predictions ignore a column.
	ignored = 0.005
	// farOff is the smallest |z| of a row that the page names. A correct model has one such
	// row in 16,000.
	farOff = 4
	// mostFar is the number of such rows that it names.
	mostFar = 5
	// mostOutlying is the number of outlying rows that it names.
	mostOutlying = 10
	// fewRows hardly show whether errors are normal.
	fewRows = 30
)

// findings lists the warnings, each with advice.
type findings struct {
	*subject
	points []page.Remark
}

func (f *findings) section(context.Context) (page.Section, error) {
	section := page.Section{Title: "Warnings and advice"}
	for _, w := range f.verdict.Warnings {
		f.add(sentence(w), "")
	}
	for _, w := range f.fit.Warnings {
		f.add(sentence(page.WithoutFolders(w, f.Record.Data)), "")
	}
	for _, u := range f.Record.Updates {
		for _, text := range u.Advice {
			f.add(sentence(text), "Tune the parameters again on all rows.")
		}
	}
	if f.unscored != "" {
		f.add("There are no scores: "+f.unscored+".", "Score rows that the fit has not seen.")
	}
	f.listOutlying()
	for i := range f.scores {
		f.judgeMiddle(&f.scores[i])
		f.findFar(&f.scores[i])
	}
	f.judgeColumns()
	if section.Points = f.points; f.points == nil {
		section.Notes = []string{"There are none."}
	}
	return section, nil
}

func (f *findings) add(text, advice string) {
	f.points = append(f.points, page.Remark{Text: text, Advice: advice})
}

// sentence returns a text that begins with a capital letter and ends with a point. Words
// such as names of options keep their form.
func sentence(text string) string {
	text = strings.TrimSpace(text)
	if text == "" {
		return ""
	}
	first, _, _ := strings.Cut(text, " ")
	if first == strings.ToLower(first) && strings.Trim(first, "abcdefghijklmnopqrstuvwxyz") == "" {
		text = strings.ToUpper(text[:1]) + text[1:]
	}
	if !strings.ContainsAny(text[len(text)-1:], ".!?") {
		text += "."
	}
	return text
}

// judgeMiddle warns of errors that are not normal although the 95 % intervals are right.
func (f *findings) judgeMiddle(c *scores) {
	// The number of rows within is binomial if the errors are independent.
	n, inside := float64(c.summary.N), math.Round(c.summary.Coverage50*float64(c.summary.N))
	if b := (distuv.Binomial{N: n, P: 0.5}); summary.NewCalibration(c.summary.Coverage95, c.summary.N) == "" && n >= fewRows && 1-b.CDF(inside-1) < 0.005 {
		f.add(c.named(fmt.Sprintf("%.1f %% of the rows are in their 50 %% interval: most errors are smaller than the normal distribution says, and a few are larger.", 100*c.summary.Coverage50)),
			"Look at the rows with large errors; intervals of other probabilities than 95 % are off.")
	}
}

// listOutlying names the training rows to which option robust gave a noise variance of their own.
func (f *findings) listOutlying() {
	robust := f.fit.Robust
	if robust == nil || len(robust.Rows) == 0 {
		return
	}
	var parts []string
	for _, o := range robust.Farthest()[:min(len(robust.Rows), mostOutlying)] {
		off := each.Of(o.Deviations, short)
		parts = append(parts, fmt.Sprintf("%d (%s)", o.Row, strings.Join(off, ", ")))
	}
	if more := len(robust.Rows) - mostOutlying; more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	text := textform.Counted(len(robust.Rows), "row does not fit and has a noise variance of its own", "rows do not fit and have noise variances of their own")
	f.add(text+"; by their number from 0 and standard deviations off: "+strings.Join(parts, ", ")+".", "Check whether they are mistakes in the table. The scores below count them, the error in the verdict does not.")
}

// findFar names the rows whose errors are far larger than their standard deviations.
func (f *findings) findFar(c *scores) {
	var far []int
	for i, z := range c.Standardized {
		if math.Abs(z) > farOff {
			far = append(far, i)
		}
	}
	if len(far) == 0 {
		return
	}
	slices.SortStableFunc(far, func(a, b int) int { return cmp.Compare(math.Abs(c.Standardized[b]), math.Abs(c.Standardized[a])) })
	var parts []string
	for _, i := range far[:min(len(far), mostFar)] {
		parts = append(parts, fmt.Sprintf("row %d (%s, predicted %s, z = %s)", c.row(i), number(c.Target[i]), number(c.Mean[i]), short(c.Standardized[i])))
	}
	text := fmt.Sprintf("%s far from the prediction, by more than %d standard deviations: %s", textform.Counted(len(far), "row is", "rows are"), farOff, strings.Join(parts, ", "))
	if len(far) > mostFar {
		text += ", …"
	}
	f.add(c.named(text+". Rows count from 0."), "Check whether they are mistakes in the table.")
}

// judgeColumns names columns of the table that the predictions ignore.
func (f *findings) judgeColumns() {
	var names []string
	for _, a := range f.axes {
		if a.relevance < ignored && !f.warned(a.Name) {
			names = append(names, a.Name)
		}
	}
	if len(names) > 0 && len(names) < len(f.axes) {
		f.add("The predictions ignore "+strings.Join(names, ", ")+".", "A fit without these columns (option features) is faster and may predict as well.")
	}
}

// warned reports whether a warning of the fit says that a column does not matter.
func (f *findings) warned(column string) bool {
	return slices.ContainsFunc(f.fit.Warnings, func(text string) bool {
		return strings.Contains(text, "not matter") && strings.Contains(text, fmt.Sprintf("%q", column))
	})
}

// Package report makes the page of a model: how well it predicts, whether its intervals
// are right, what each column does, how the fit went, and what to do about it. [Page]
// collects everything; package show/page lays it out and writes it.
package report

import (
	"context"
	"fmt"

	"gpfit/fit/dataset"
	"gpfit/fit/summary"
	"gpfit/gp"
	"gpfit/internal/textform"
	"gpfit/method/experts"
	"gpfit/show/page"
)

// Page collects the page of a model. It returns errors of predictions; a model without
// leave-one-out scores still has a page, which says why.
func Page(ctx context.Context, about Subject) (*page.Page, error) {
	m := about.Posterior.Whole()
	divided, err := experts.Read(m.State)
	if err != nil {
		return nil, err
	}
	s := &subject{Subject: about, model: m, experts: divided}
	if s.Record == nil {
		s.Record = &summary.ModelRecord{}
	}
	if s.Record.Report == nil {
		s.Record.Report = &summary.Report{}
	}
	for _, step := range []func(context.Context) error{s.score, s.rank, s.vary, s.split, func(ctx context.Context) error { return forecast(ctx, s) }} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	s.verdict = s.judge()
	p := &page.Page{Title: about.Name, Headline: s.headline(), About: s.about()}
	if next := s.verdict.Next; next != nil {
		p.Command = page.WithoutFolders(next.Command, s.Record.Data)
	}
	for _, section := range []func(*subject) (page.Section, error){
		findings, predictions, localExperts, series, relevantColumns, effects, whatIf, terms, parameters, convergence, timeAndDevice, source,
	} {
		part, err := section(s)
		if err != nil {
			return nil, err
		}
		p.Sections = append(p.Sections, part)
	}
	return p, nil
}

// about says what the page is made from.
func (s *subject) about() string {
	m := s.model
	what := "Gaussian process"
	if s.experts != nil {
		what = fmt.Sprintf("%d local experts, each a Gaussian process,", len(s.experts.Centres))
	}
	text := fmt.Sprintf("%s with kernel %s on %s and %s of %s", what, m.KernelText(), textform.Counted(m.N(), "training row"), textform.Counted(len(m.Columns), "column"), s.table())
	if s.Record.Program != "" {
		text += ", by " + s.Record.Program
	}
	return text + "."
}

// NewScored returns the rows of a table that m did not train on. If the fit used this
// table, these are its other rows, and a note says so; it has none if m trained on all
// of them. Blank rows are left out.
func NewScored(m *gp.Model, name string, all dataset.Rows) *Scored {
	out := &Scored{Of: "rows of " + name, Rows: all}
	for i := range all.Total {
		if all.Blank == nil || !all.Blank[i] {
			out.Numbers = append(out.Numbers, i)
		}
	}
	if blank := all.Total - all.N; blank > 0 {
		out.Notes = append(out.Notes, fmt.Sprintf("%d of %d rows of %s have missing values and are left out.", blank, all.Total, name))
	}
	trained := out.trainedOn(m)
	if trained == nil {
		return out
	}
	var which, numbers []int
	for i, number := range out.Numbers {
		if !trained[number] {
			which, numbers = append(which, i), append(numbers, number)
		}
	}
	out.Rows, out.Numbers = all.Pick(which), numbers
	out.Of = fmt.Sprintf("rows of %s that the fit did not use", name)
	out.Notes = append(out.Notes, fmt.Sprintf("%s is the table of the fit: its %d training rows are left out.", name, m.N()))
	return out
}

// trainedOn returns the numbers of the training rows if each of them is the row of the
// table with its number, and nil otherwise: then the table is another one.
func (s *Scored) trainedOn(m *gp.Model) map[int]bool {
	at := map[int]int{}
	for i, number := range s.Numbers {
		at[number] = i
	}
	trained := map[int]bool{}
	for k := range m.N() {
		i, ok := at[m.Row(k)]
		if !ok || !s.same(m, i, k) {
			return nil
		}
		trained[m.Row(k)] = true
	}
	return trained
}

// same reports whether row i of the table is training row k.
func (s *Scored) same(m *gp.Model, i, k int) bool {
	width, d := len(m.FeatureNames), len(m.Columns)
	for c, f := range m.Columns {
		if s.Rows.X[i*width+f] != m.X[k*d+c] {
			return false
		}
	}
	for t, y := range s.Rows.Observed {
		if y[i] != m.Y[t*m.N()+k] {
			return false
		}
	}
	return true
}

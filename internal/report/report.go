// Package report makes the page of a model: how well it predicts, whether its intervals
// are right, what each column does, how the fit went, and what to do about it. [Page]
// collects everything; package internal/page lays it out and writes it.
package report

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"gpfit/fit/summary"
	"gpfit/gp"
	"gpfit/internal/page"
)

// Subject is what a page is about.
type Subject struct {
	// Name is the name of the model, for the title.
	Name string
	// Posterior is the model on its data.
	Posterior *gp.Posterior
	// Record says how the model was fitted; nil if that is unknown.
	Record *summary.ModelRecord
	// Rows are rows to score, with their predictions for each target. Without them, the
	// scores are those of leave-one-out.
	Rows *Scored
	// Threads is the number of threads for work on the host, 0 for all.
	Threads int
}

// subject is a Subject with everything that several sections need.
type subject struct {
	Subject
	model *gp.Model
	// scores has an element for each target; it is empty, and unscored says why, if there
	// are none.
	scores   []scores
	unscored string
	// axes are the columns of the table in use, most relevant first.
	axes    []axis
	effects []curve
	terms   []term
	// relevance lists the columns in use, most relevant first.
	relevance []summary.ColumnRelevance
}

// Page collects the page of a model. Errors are those of predictions; a model without
// leave-one-out scores still has a page, which says why.
func Page(ctx context.Context, about Subject) (*page.Page, error) {
	s := &subject{Subject: about, model: about.Posterior.Whole()}
	if s.Record == nil {
		s.Record = &summary.ModelRecord{}
	}
	if s.Record.Report == nil {
		s.Record.Report = &summary.Report{}
	}
	for _, step := range []func(context.Context) error{s.score, s.rank, s.vary, s.split} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	p := &page.Page{Title: about.Name, Headline: s.headline(), About: s.about()}
	for _, section := range []func() (page.Section, error){
		s.findings, s.predictions, s.expertsSection, s.columns, s.effectsSection, s.termsSection, s.parameters, s.convergence, s.time, s.source,
	} {
		part, err := section()
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
	if s.local() {
		what = fmt.Sprintf("%d local experts, each a Gaussian process,", len(m.Experts.Centres))
	}
	text := fmt.Sprintf("%s with kernel %s on %s and %s of %s", what, m.KernelText(), counted(m.N(), "training row"), counted(len(m.Columns), "column"), s.table())
	if s.Record.Program != "" {
		text += ", by " + s.Record.Program
	}
	return text + "."
}

// table returns the name of the training table without its folder.
func (s *subject) table() string {
	if s.Record.Data == "" || s.Record.Data == "-" {
		return "its table"
	}
	return baseName(s.Record.Data)
}

// baseName returns the last part of a path of any system.
func baseName(path string) string {
	path = strings.TrimRight(path, `/\`)
	return path[strings.LastIndexAny(path, `/\`)+1:]
}

// targets returns the names of the targets.
func (s *subject) targets() []string { return s.model.TargetNames() }

// named returns text with the name of a target in front if there are several.
func (s *subject) named(target, text string) string {
	if len(s.targets()) < 2 {
		return text
	}
	return target + ": " + text
}

// rank finds the relevance of the columns. The record has it, unless rows were added since.
func (s *subject) rank(ctx context.Context) error {
	if r := s.Record.Report.Relevance; len(r) > 0 && len(s.Record.Updates) == 0 {
		s.relevance = r
		return nil
	}
	relevance := func() ([]float64, error) { return gp.Relevance(ctx, s.model, s.Threads) }
	if s.local() {
		relevance = func() ([]float64, error) { return s.Posterior.Relevance(ctx) }
	}
	values, err := relevance()
	if err != nil {
		return err
	}
	for i, v := range values {
		at := s.model.Columns[i]
		s.relevance = append(s.relevance, summary.ColumnRelevance{Column: s.model.FeatureNames[at], Index: at, Relevance: v})
	}
	slices.SortStableFunc(s.relevance, func(a, b summary.ColumnRelevance) int { return compare(b.Relevance, a.Relevance) })
	return nil
}

// counted returns a number with its noun.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

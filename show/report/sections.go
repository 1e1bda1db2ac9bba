package report

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gpfit/fit/fields"
	"gpfit/fit/problem"
	"gpfit/fit/summary"
	"gpfit/gp"
	"gpfit/internal/each"
	"gpfit/internal/matrixrows"
	"gpfit/internal/textform"
	"gpfit/show/page"
	"gpfit/table/feature"
)

// parameters shows the parameters by name, in both units, with what is known of their uncertainty.
type parameters struct{ *subject }

// parameterNames returns the names of parameters with values in the order of the model, and then others.
func parameterNames(m *gp.Model, values map[string]float64) []string {
	names := each.Of(m.ParameterNames, textform.Columns(m.FeatureNames).Display)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

func (p *parameters) section(context.Context) (page.Section, error) {
	r := *p.fit
	r.Parameters, r.GradientLog = p.model.Parameters(), nil // rows may have been added after the fit
	r.Names, r.NamesOriginal = parameterNames(p.model, r.Parameters), slices.Sorted(maps.Keys(r.ParametersOriginalUnits))
	table := summary.ParameterTable(&r)
	for i := range table.Rows {
		row := &table.Rows[i]
		name := strings.TrimSpace(row.Cells[0].Text)
		if slices.Contains(r.AtBound, name) {
			row.Remark("at a bound")
		}
		if prior, ok := r.Priors[name]; ok {
			row.Remark("prior " + prior)
		}
	}
	section := page.Section{Title: "Parameters", Tables: []fields.Table{table}, Notes: []string{"Scaled values belong to the standardized table, in which gpfit fits."}}
	if e := r.StdErrors; e != nil && e.Failure == "" {
		section.Tables = append(section.Tables, e.Table(r.Names))
	}
	if r.Posterior != nil {
		draws := r.Posterior.DrawTable()
		draws.Caption = "Draws of the parameters from their posterior"
		section.Tables = append(section.Tables, draws)
	}
	if len(p.Record.Updates) > 0 {
		section.Notes = append(section.Notes, "Rows were added after the fit. The units of the table and everything about the fit on this page belong to the fit before.")
	}
	return section, nil
}

// convergence shows how the fit ended, and the optima that its starts reached.
type convergence struct{ *subject }

// mostOptima is the number of optima whose parameters the page shows.
const mostOptima = 6

func (c *convergence) section(context.Context) (page.Section, error) {
	r := c.fit
	section := page.Section{Title: "Convergence and restarts"}
	if r.Type == "" {
		section.Notes = []string{fmt.Sprintf("The model has no report of its fit. Its objective is %s, its status %q.", number(c.model.NLML), c.model.Status)}
		return section, nil
	}
	text := fmt.Sprintf("The fit is %s. It ended at %s %.4f", summary.StatusText(r.Status), problem.ObjectiveLabel(r.ObjectiveName), r.Objective)
	if r.GradientNorm != nil {
		text += fmt.Sprintf("; the largest component of the gradient is %.2g", *r.GradientNorm)
	}
	section.Notes = []string{text + ".", fmt.Sprintf("NLML %.4f = data fit %.4f + complexity %.4f + constant %.4f.", r.NLML, r.DataFit, r.Complexity, r.Constant)}
	if r.Search != nil && r.Search.Text != "" {
		section.Notes = append(section.Notes, sentence(r.Search.Text))
	}
	optima, values := summary.OptimaTable(r.Optima, "objective"), summary.OptimaParameters(r.Optima, mostOptima, nil)
	optima.Caption = "Optima that the starts reached, best first; scores in the units of the target"
	values.Caption, values.Folded = "Parameters at the optima, scaled", true
	for i, o := range r.Optima {
		if o.Best {
			optima.Rows[i].Remark("the model")
		}
	}
	section.Tables = fields.Filled(optima, values)
	return section, nil
}

// timeAndDevice shows where the time went.
type timeAndDevice struct{ *subject }

func (t *timeAndDevice) section(context.Context) (page.Section, error) {
	r := t.fit
	section := page.Section{Title: "Time and device"}
	if r.Type == "" {
		return section, nil
	}
	section.Notes = []string{fmt.Sprintf("%.3g seconds on %s, with %d values and %d gradients of the objective, %d and %d of them on all rows.",
		r.Seconds, r.Device, r.Evaluations.Value, r.Evaluations.Gradient, r.Evaluations.FullSizeValue, r.Evaluations.FullSizeGradient)}
	if r.EvaluationSeconds > 0 {
		section.Notes = append(section.Notes, fmt.Sprintf("Evaluations took %.3g seconds, summed over those that ran side by side.", r.EvaluationSeconds))
	}
	path := slices.Clone(r.Path)
	rest := r.Seconds
	for i, p := range path {
		if i == 0 || path[i-1].Step != "halves" || p.Step != "hessians" {
			rest -= p.Seconds
		}
	}
	if len(path) > 0 && rest > 0 {
		path = append(path, summary.StageReport{Step: "scores, relevance and the rest", Seconds: rest})
	}
	table := summary.PathTable(path, "objective")
	table.Caption = "Phases of the fit; first steps of several starts run side by side"
	for i := range path {
		if r.Seconds > 0 {
			table.Rows[i].Cells[6].Bar = path[i].Seconds / r.Seconds
		}
		if path[i].Rows == 0 { // the rest
			for k := range table.Rows[i].Cells[:6] {
				if k != 1 {
					table.Rows[i].Cells[k].Text = ""
				}
			}
		}
	}
	section.Tables = fields.Filled(table)
	return section, nil
}

// source shows what the model is made of.
type source struct{ *subject }

func (s *source) section(context.Context) (page.Section, error) {
	m, r := s.model, s.Record
	table := fields.Table{Heads: []fields.Head{{Text: "property", Words: true}, {Text: "value", Words: true, Wrap: true}}}
	add := func(name, before, text string) {
		if text != "" {
			table.Add(name, before+text)
		}
	}
	add("kernel", "", m.KernelText())
	add("mean", "", m.Mean.Text)
	add("target", "", strings.Join(m.TargetNames(), ", "))
	if of := m.Scaling.Transform; of != nil {
		text := (&summary.TransformReport{Kind: of.Kind}).Text()
		if of.Kind.Tuned() {
			text += "; λ = " + number(of.Lambda)
		}
		add("target transform", "", text)
	}
	add("training rows", "", fmt.Sprint(m.N()))
	if m.Approximation != nil {
		add("method", "", m.Approximation.Text())
	}
	add("features", "", strings.Join(m.FeatureNames, ", "))
	if len(m.Columns) < len(m.FeatureNames) {
		add("features in use", "", strings.Join(matrixrows.Values(m.FeatureNames, m.Columns), ", "))
	}
	add("known noise variances", "column ", m.Noise.Column)
	add("weights", "column ", m.Noise.WeightColumn)
	if m.Noise.GroupColumn != "" {
		add("noise groups", "column "+m.Noise.GroupColumn+": ", strings.Join(m.Noise.Labels, ", "))
	}
	if m.Draws.Len() > 0 {
		add("draws of the parameters", "", fmt.Sprintf("%d, by %s", m.Draws.Len(), m.Draws.Method))
	}
	add("written by", "", r.Program)
	add("table", "", baseName(r.Data))
	for _, name := range slices.Sorted(maps.Keys(r.Options)) {
		add("option "+name, "", page.WithoutFolders(r.Options[name], r.Options[name]))
	}
	section := page.Section{Title: "Model and data", Tables: []fields.Table{table}}
	if m.Encoding != nil {
		columns := fields.Table{Caption: "How the columns of the table were read", Heads: []fields.Head{{Text: "column", Words: true}, {Text: "reading", Words: true, Wrap: true}}}
		for i := range m.Encoding.Columns {
			if c := &m.Encoding.Columns[i]; c.Kind != feature.Number {
				columns.Add(c.Name, c.Text())
			}
		}
		section.Tables = append(section.Tables, fields.Filled(columns)...)
	}
	return section, nil
}

// baseName returns the last part of a path of any system.
func baseName(path string) string {
	path = strings.TrimRight(path, `/\`)
	return path[strings.LastIndexAny(path, `/\`)+1:]
}

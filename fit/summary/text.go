package summary

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/template"

	"gpfit/fit/fields"
	"gpfit/fit/problem"
	"gpfit/gp"
	"gpfit/internal/textform"
)

// The templates of the texts for people.
var (
	//go:embed report.tmpl
	reportTemplate string
	//go:embed profile.tmpl
	profileTemplate string
	//go:embed update.tmpl
	updateTemplate string

	reportText = textform.Template(reportTemplate, template.FuncMap{
		"byAllRows": byAllRows, "columns": columnsText, "criterion": criterion, "drawn": drawn, "drawnNames": drawnNames, "estimate": estimate, "heldBy": heldBy, "label": problem.ObjectiveLabel, "likelyModes": likelyModes, "lines": lines, "minimizes": minimizes,
		"optimaParameters": OptimaParameters, "optimaTable": OptimaTable, "parameterTable": ParameterTable, "pathTable": PathTable, "relevanceTable": RelevanceTable,
		"directions": directions, "scoreLines": scoreLines, "scores": scoreText, "single": single, "state": StateText, "status": StatusText, "under": under, "unscaled": unscaled, "waves": waves, "withoutPrior": withoutPrior,
	})
	profileText = textform.Template(profileTemplate, template.FuncMap{
		"label": problem.ObjectiveLabel, "last": func(values []float64) float64 { return values[len(values)-1] }, "minima": minima,
		"point": func(axes []ProfileAxis, p ProfilePoint) string { return PointName(axes, &p) },
	})
	updateText = textform.Template(updateTemplate, template.FuncMap{
		"advice": func(texts []string) string { return strings.Join(texts, "; ") }, "less": func(a, b int) int { return a - b },
		"others": func(of []gp.ExtensionScores) bool {
			return slices.ContainsFunc(of, func(s gp.ExtensionScores) bool { return s.Outlying > 0 })
		},
		"directions": directions, "scoreLines": scoreLines,
	})
)

// under returns a table as lines, "" without rows.
func under(t fields.Table) string {
	if len(t.Rows) == 0 {
		return ""
	}
	return "\n" + strings.TrimSuffix(t.Text(), "\n")
}

// lines returns a table as lines after an empty line.
func lines(t fields.Table) string {
	if text := under(t); text != "" {
		return "\n" + text
	}
	return ""
}

// Text returns the report as text for people.
func (r *Report) Text() string { return strings.TrimLeft(reportText(r), "\n") }

// Text returns a summary of the profile for people.
func (p *Profile) Text() string { return profileText(p) }

// Text returns the report as text for people.
func (r *UpdateReport) Text() string { return updateText(r) }

// UpdatedRecord returns the record of a model after an update: the record of the fit,
// with the report of the update.
func UpdatedRecord(before json.RawMessage, r *UpdateReport) (json.RawMessage, error) {
	record, err := ReadRecord(before)
	if err == nil {
		err = checkFinite(r)
	}
	if err != nil {
		return nil, err
	}
	if record == nil {
		record = &ModelRecord{SchemaVersion: SchemaVersion}
	}
	if of := record.Report; of != nil && !r.Retuned && strings.HasPrefix(of.Predictions, "average") {
		const alone = "of the parameters found: the draws over which they averaged do not know the new rows"
		record.Text, of.Predictions = strings.Replace(record.Text, of.Predictions, alone, 1), alone
	}
	record.Updates = append(record.Updates, *r)
	record.Text = strings.TrimSuffix(record.Text, "\n") + "\n\n" + r.Text()
	return json.MarshalIndent(record, "", "  ")
}

// withoutPrior returns the objective without the term of the priors.
func withoutPrior(r *Report) float64 {
	if r.NegLogPrior == nil {
		return r.Objective
	}
	return r.Objective - *r.NegLogPrior
}

// estimate returns a note for the status line if the parameters are not maximum likelihood
// estimates.
func estimate(r *Report) string {
	priors, how := "", "leave-one-out"
	if r.NegLogPrior != nil {
		priors = " with priors"
	}
	switch {
	case r.Type != "fit":
		return ""
	case minimizes(r, problem.LOO, problem.LOORMSE):
	case minimizes(r, problem.LOPO, problem.LOPORMSE):
		how = "leave-one-place-out"
	case minimizes(r, problem.CV, problem.CVRMSE):
		how = "cross-validation"
	case priors != "":
		how, priors = "MAP", ""
	default:
		return ""
	}
	return " (" + how + priors + ")"
}

// heldBy says how rows were chosen for a hold-out.
func heldBy(h *gp.HeldOut) string {
	if h.By != "" {
		return fmt.Sprintf("the latest by %q", h.By)
	}
	return drawn(h.Seed, h.Group, h.Blocks)
}

// drawn says how rows were chosen for a hold-out or for folds.
func drawn(seed uint64, group string, blocks bool) string {
	switch {
	case blocks:
		return "consecutive rows"
	case group != "":
		return fmt.Sprintf("groups of %q, seed %d", group, seed)
	}
	return fmt.Sprintf("seed %d", seed)
}

// original returns a parameter in original units, or a note that it follows by column or by target.
func original(r *Report, name string) string {
	isPart := func(other string) bool { return other == name || strings.HasPrefix(other, name+"[") }
	switch v, ok := r.ParametersOriginalUnits[name]; {
	case ok:
		return fmt.Sprintf("%.6g", v)
	case r.Targets != nil && slices.ContainsFunc(r.Targets[0].Names, isPart):
		return "by target:"
	case slices.ContainsFunc(r.NamesOriginal, isPart):
		return "by column:"
	}
	return ""
}

// parts returns the names in original units of the parts of a parameter, by column.
func parts(r *Report, name string) []string {
	return slices.DeleteFunc(slices.Clone(r.NamesOriginal), func(part string) bool {
		_, own := r.Parameters[part]
		return own || !strings.HasPrefix(part, name+"[")
	})
}

// drawnNames returns the names of the parameters of the draws, sorted in a report from a record.
func drawnNames(p *PosteriorReport) []string {
	if p.Names != nil {
		return p.Names
	}
	return slices.Sorted(maps.Keys(p.Parameters))
}

// likelyModes returns the modes that the text lists, four at most: modes with a share of a thousandth,
// and the fit's. It lists none if that is one.
func likelyModes(p *PosteriorReport) (out []PosteriorMode) {
	for _, m := range p.Modes {
		if m.Fit || m.Share >= 1e-3 && len(out) < 3 {
			out = append(out, m)
		}
	}
	if len(out) < 2 {
		return nil
	}
	return out
}

// minima returns a line with the minima of a section, "" if there are not several.
func minima(label string, s ProfileSection) string {
	const most = 8
	if len(s.Minima) < 2 {
		return ""
	}
	var parts []string
	for _, k := range s.Minima[:min(len(s.Minima), most)] {
		parts = append(parts, fmt.Sprintf("%s (%s %.4f)", PointName(s.Axes, &s.Points[k]), label, s.Points[k].F))
	}
	if len(s.Minima) > most {
		parts = append(parts, "…")
	}
	return fmt.Sprintf("\n%d minima: %s", len(s.Minima), strings.Join(parts, "; "))
}

// PointName names a point by the values that its section gives it.
func PointName(axes []ProfileAxis, p *ProfilePoint) string {
	var parts []string
	for i, a := range axes {
		parts = append(parts, fmt.Sprintf("%s=%.6g", a.Name, p.Moved[i]))
	}
	return strings.Join(parts, ", ")
}

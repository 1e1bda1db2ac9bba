package summary

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"gpfit/device"
	"gpfit/fit/problem"
	"gpfit/gp"
	"gpfit/internal/each"
	"gpfit/table/feature"
)

// ModelRecord says how a model was made. A model file holds it, as the entry fit.json, beside
// the model.
type ModelRecord struct {
	SchemaVersion int `json:"schema_version"`
	// Program wrote the model, such as "gpfit 0.1.0". Data names the table, and Options holds
	// the options that the user gave.
	Program string            `json:"program,omitempty"`
	Data    string            `json:"data,omitempty"`
	Options map[string]string `json:"options,omitempty"`
	// Report is the report of the fit, Text the same for people.
	Report *Report `json:"report"`
	Text   string  `json:"text"`
	// Updates are the reports of rows that were added after the fit, in order.
	Updates []UpdateReport `json:"updates,omitempty"`
}

// ReadRecord reads the record of a model, gp.Model.Record. A model from an earlier
// version has none; the result is then nil. A record without a verdict gets one.
func ReadRecord(text []byte) (*ModelRecord, error) {
	if text == nil {
		return nil, nil
	}
	m := &ModelRecord{}
	err := json.Unmarshal(text, m)
	if r := m.Report; err == nil && r != nil && r.Verdict == nil {
		if r.Judge(); r.Verdict != nil {
			m.Text = r.Verdict.Text() + "\n\n" + m.Text
		}
	}
	return m, err
}

// UpdateReport is the result of adding rows to a model.
type UpdateReport struct {
	Type          string `json:"type"`
	SchemaVersion int    `json:"schema_version"`
	// N counts the training rows of the new model, Added the new ones among them, and Tuned
	// the rows on which the parameters were found, 0 if unknown.
	N     int `json:"n"`
	Added int `json:"added"`
	Tuned int `json:"tuned"`
	// Device is where gpfit computed. Extended says that it kept the factor of the model.
	Device   string `json:"device"`
	Extended bool   `json:"extended"`
	// Method is the name of the method if it is not dense.
	Method string `json:"method,omitempty"`
	// Approximation says how far the new model may be off; nil for exact methods.
	Approximation *gp.Approximation `json:"approximation,omitempty"`
	// NLMLBefore belongs to the model, NLML to the new model, in scaled units.
	NLMLBefore float64 `json:"nlml_before"`
	NLML       float64 `json:"nlml"`
	// NewRows compares the new rows of each target with what the model predicted.
	NewRows []gp.ExtensionScores `json:"new_rows"`
	// Advice holds the reasons to tune the parameters again; none if there is no need.
	Advice []string `json:"advice"`
	// Retuned says that the parameters were tuned on all rows after this.
	Retuned  bool     `json:"retuned"`
	Warnings []string `json:"warnings"`
	// Reading says what was read of the table of new rows.
	Reading   *feature.Reading `json:"reading,omitempty"`
	ModelFile string           `json:"model_file,omitempty"`
	Seconds   float64          `json:"seconds"`
	// Fit is the report of the new parameters, if they were tuned.
	Fit *Report `json:"fit,omitempty"`
}

// Limits of a model that needs no new parameters. A deviance with a smaller two-sided
// p-value comes by chance once in a thousand updates. With half as many rows again, the
// standard errors of the parameters are smaller by a fifth.
const (
	leastPValue = 1e-3
	mostGrowth  = 1.5
)

// NewUpdateReport reports the step from a model to a model with more rows.
func NewUpdateReport(before, after *gp.Model, e *gp.Extension) (*UpdateReport, error) {
	record, err := ReadRecord(before.Record)
	if err != nil {
		return nil, err
	}
	r := &UpdateReport{
		Type: "update", SchemaVersion: SchemaVersion, N: after.N(), Added: after.N() - before.N(), Extended: e.Extended,
		NLMLBefore: before.NLML, NLML: after.NLML, Advice: []string{}, Warnings: []string{},
	}
	if record != nil && record.Report != nil {
		r.Tuned = record.Report.N
		for _, u := range record.Updates {
			if u.Retuned {
				r.Tuned = u.N
			}
		}
	}
	if r.NewRows = e.Targets; e.Method != device.DenseName {
		r.Method = e.Method
	}
	if r.Approximation = after.Approximation; r.Approximation.Loose() {
		r.Warnings = append(r.Warnings, r.Approximation.Advice())
	}
	for _, s := range r.NewRows {
		if expected := r.Added - s.Outlying; s.PValue < leastPValue {
			size := "larger"
			if s.Deviance < float64(expected) {
				size = "smaller"
			}
			r.Advice = append(r.Advice, fmt.Sprintf("the errors of the new rows of %s are %s than the model expects: the deviance is %.3g, where %d is expected (p = %.2g)", s.Name, size, s.Deviance, expected, s.PValue))
		}
		if known := len(before.Noise.Outlying); s.Outlying > 0 && chanceOfAside(s.Outlying, r.Added, known, before.N()) < leastPValue {
			r.Advice = append(r.Advice, fmt.Sprintf("%d of %d new rows of %s are outlying, and only %d of %d training rows are", s.Outlying, r.Added, s.Name, known, before.N()))
		}
	}
	if r.Tuned > 0 && float64(r.N) > mostGrowth*float64(r.Tuned) {
		r.Advice = append(r.Advice, fmt.Sprintf("the parameters were tuned on %d rows, and the model has %d now", r.Tuned, r.N))
	}
	if before.Draws.Len() > 0 {
		r.Advice = append(r.Advice, fmt.Sprintf("predictions averaged over %d draws of the parameters, which do not know the new rows: without new draws they use the parameters alone", before.Draws.Len()))
	}
	return r, nil
}

// WriteDraws writes the draws of a posterior as JSON that ArviZ reads (from_json): a group
// "posterior" with an array of chains and draws for each parameter, in scaled units, and
// for HMC a group "sample_stats". A report from a file has no draws.
func (r *PosteriorReport) WriteDraws(w io.Writer) error {
	if r.Values == nil {
		return errors.New("the report has no draws")
	}
	posterior := map[string][][]float64{}
	for _, name := range r.Names {
		for _, chain := range r.Values {
			values := each.Of(chain, func(draw map[string]float64) float64 { return draw[name] })
			posterior[name] = append(posterior[name], values)
		}
	}
	out := map[string]any{
		"posterior":       posterior,
		"posterior_attrs": map[string]any{"inference_library": "gpfit", "method": r.Method, "seed": r.Seed, "units": "scaled"},
	}
	if r.Stats != nil {
		stats := map[string]any{}
		add := func(name string, of func(c int) any) {
			var all []any
			for c := range r.Stats {
				all = append(all, of(c))
			}
			stats[name] = all
		}
		add("lp", func(c int) any { return r.Stats[c].LogDensity })
		add("diverging", func(c int) any { return r.Stats[c].Divergent })
		add("tree_depth", func(c int) any { return r.Stats[c].Depth })
		add("acceptance_rate", func(c int) any { return r.Stats[c].Accept })
		add("step_size", func(c int) any {
			steps := make([]float64, len(r.Stats[c].Draws))
			for i := range steps {
				steps[i] = r.Stats[c].StepSize
			}
			return steps
		})
		out["sample_stats"] = stats
	}
	return json.NewEncoder(w).Encode(out)
}

// CheckFinite returns a [*problem.DataError] if a number of a report is not finite. Scores
// are exempt, because they may be undefined.
func (r *Report) CheckFinite() error { return checkFinite(r) }

func checkFinite(report any) error {
	if path := nonFinite(reflect.ValueOf(report), ""); path != "" {
		return &problem.DataError{Msg: fmt.Sprintf("the result's %s is not a finite number: the data or the parameters are at the limits of double precision; raise noise_variance, or %s", path, problem.Rescale)}
	}
	return nil
}

// nonFinite returns the path of the first float64 in v that is not finite, in JSON
// names; "" if all are finite.
func nonFinite(v reflect.Value, path string) string {
	if v.Type() == reflect.TypeFor[Number]() {
		return ""
	}
	switch v.Kind() {
	case reflect.Float64:
		if problem.NotFinite(v.Float()) {
			return path
		}
	case reflect.Pointer:
		if !v.IsNil() {
			return nonFinite(v.Elem(), path)
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if at := nonFinite(v.Index(i), path); at != "" {
				return at
			}
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			if at := nonFinite(it.Value(), fmt.Sprintf("%s %s", path, it.Key())); at != "" {
				return at
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
			if at := nonFinite(v.Field(i), strings.TrimSpace(path+" "+name)); at != "" {
				return at
			}
		}
	}
	return ""
}

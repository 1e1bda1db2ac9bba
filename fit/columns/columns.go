// Package columns writes results as named columns, in several formats. [Predict] converts
// predictions of the rows of a table, [Sampling] joint draws, and [LeaveOneOut] predictions of the
// training rows. [Sheet] writes them incrementally.
package columns

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"

	"gpfit/gp"
)

// Column is a named column of a result.
type Column struct {
	Name   string
	Values []float64
	// key is its path in a JSON object; nil if the object has it in another form.
	key []string
	// sparse means that NaN stands for a value that is not defined.
	sparse bool
}

// json returns the values for a JSON object.
func (c *Column) json() any {
	if slices.ContainsFunc(c.Values, func(v float64) bool { return v != v }) {
		return numbers(c.Values)
	}
	return c.Values
}

// TargetColumns is the result for one target.
type TargetColumns struct {
	// Target is the target's name, "" if it is the only one.
	Target  string
	Columns []Column
	// Prediction has the densities behind the columns; nil without variances.
	Prediction *gp.Prediction
	// Info holds further members of the JSON object.
	Info map[string]any
}

// Add adds a column. key is its path in the JSON object, by default its name.
func (p *TargetColumns) Add(name string, values []float64, key ...string) {
	if key == nil {
		key = []string{name}
	}
	p.Columns = append(p.Columns, Column{Name: name, Values: values, key: key})
}

// Values returns the values of the column of a name, nil without it.
func (p *TargetColumns) Values(name string) []float64 {
	for _, c := range p.Columns {
		if c.Name == name {
			return c.Values
		}
	}
	return nil
}

// AddSparse adds a column in which NaN stands for a value that is not defined: an empty
// cell, or null.
func (p *TargetColumns) AddSparse(name string, values []float64) {
	p.Columns = append(p.Columns, Column{Name: name, Values: values, key: []string{name}, sparse: true})
}

// object returns the columns and Info as a JSON object.
func (p *TargetColumns) object() map[string]any {
	root := map[string]any{}
	for _, c := range p.Columns {
		if c.key == nil {
			continue
		}
		at, last := root, len(c.key)-1
		for _, k := range c.key[:last] {
			if at[k] == nil {
				at[k] = map[string]any{}
			}
			at = at[k].(map[string]any)
		}
		at[c.key[last]] = c.json()
	}
	maps.Copy(root, p.Info)
	return root
}

// Sheet writes columns of rows incrementally, by an encoder, or as one JSON object at
// the end. The columns of several targets are named TARGET.NAME.
type Sheet struct {
	encoder BlockEncoder // nil for JSON
	w       io.Writer    // of JSON
	info    map[string]any
	rows    int
	all     []TargetColumns // of JSON
	keys    Keys            // of JSON
}

// NewSheet returns a sheet that writes a JSON object to w. info holds further members of it.
func NewSheet(w io.Writer, info map[string]any) *Sheet { return &Sheet{w: w, info: info} }

// NewTable returns a sheet that writes by an encoder.
func NewTable(e BlockEncoder) *Sheet { return &Sheet{encoder: e} }

// Add writes further rows. All calls must pass parts of the same form. If a number
// is not finite, Add returns a [*gp.RangeError] and writes none of the rows.
func (t *Sheet) Add(parts []TargetColumns) error { return t.AddKeyed(parts, Keys{}) }

// AddKeyed is Add for rows with keys, of which some may be blank.
func (t *Sheet) AddKeyed(parts []TargetColumns, keys Keys) error {
	b := Block{TextNames: keys.Names, Texts: keys.Values, N: max(len(parts[0].Columns[0].Values), len(keys.Blank))}
	for _, p := range parts {
		for i := range p.Columns {
			c := &p.Columns[i]
			if at := slices.IndexFunc(c.Values, func(v float64) bool { return v-v != 0 && !(c.sparse && v != v) }); at >= 0 {
				return &gp.RangeError{What: c.Name, Row: t.rows + keys.Place(at)}
			}
			c.Values = keys.spread(c.Values)
			name := c.Name
			if p.Target != "" {
				name = p.Target + "." + name
			}
			b.Names, b.Numbers = append(b.Names, name), append(b.Numbers, c.Values)
		}
	}
	if err := b.checkNames(); err != nil {
		return err
	}
	t.rows += b.N
	if t.encoder != nil {
		return t.encoder.Encode(&b)
	}
	t.keep(parts, keys)
	return nil
}

// keep keeps rows for the JSON object.
func (t *Sheet) keep(parts []TargetColumns, keys Keys) {
	first := t.all == nil
	if first {
		t.all = slices.Clone(parts)
		t.keys = Keys{Names: keys.Names, Values: make([][]string, len(keys.Names))}
	}
	for i, values := range keys.Values {
		t.keys.Values[i] = append(t.keys.Values[i], values...)
	}
	if first {
		return
	}
	for i, p := range parts {
		for q, c := range p.Columns {
			all := &t.all[i].Columns[q]
			all.Values = append(all.Values, c.Values...)
		}
	}
}

// End writes the rest. It does not close the writer.
func (t *Sheet) End() error {
	if t.encoder != nil {
		return t.encoder.End()
	}
	object := map[string]any{}
	if len(t.all) == 1 && t.all[0].Target == "" {
		object = t.all[0].object()
	} else {
		targets := make([]map[string]any, len(t.all))
		for i := range t.all {
			targets[i] = t.all[i].object()
			targets[i]["name"] = t.all[i].Target
		}
		object["targets"] = targets
	}
	if len(t.keys.Names) > 0 {
		values := map[string][]string{}
		for i, name := range t.keys.Names {
			values[name] = t.keys.Values[i]
		}
		object["keep"] = values
	}
	object["n"], object["schema_version"] = t.rows, 1
	maps.Copy(object, t.info)
	return json.NewEncoder(t.w).Encode(object)
}

// WriteWeights writes the posterior of the weights of linear terms as CSV with a
// row for each weight, or as a JSON object that also has the covariances.
func WriteWeights(w io.Writer, asJSON bool, weights []gp.Weights) error {
	if asJSON {
		terms := make([]map[string]any, len(weights))
		for i, t := range weights {
			terms[i] = map[string]any{
				"path": t.Path, "kernel": t.Text, "features": t.Names, "mean": t.Mean, "prior_variance": t.PriorVariance,
				"covariance": slices.Collect(slices.Chunk(t.Cov, len(t.Mean))),
			}
		}
		return json.NewEncoder(w).Encode(map[string]any{"type": "weights", "schema_version": 1, "terms": terms})
	}
	lines := [][]string{{"term", "feature", "mean", "std", "prior_std"}}
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	for _, t := range weights {
		for i, name := range t.Names {
			// Rounding can make the variance slightly negative.
			std := math.Sqrt(max(t.Cov[i*len(t.Names)+i], 0))
			lines = append(lines, []string{t.Path, name, number(t.Mean[i]), number(std), number(math.Sqrt(t.PriorVariance[i]))})
		}
	}
	return csv.NewWriter(w).WriteAll(lines)
}

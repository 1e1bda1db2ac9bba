// Package columns converts the results of a model to named columns and writes them
// as CSV or JSON. [Predict] converts predictions of the rows of a table, [Sampling]
// joint draws, and [LeaveOneOut] predictions of the training rows. [Sheet] writes
// them incrementally.
package columns

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"io"
	"maps"
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
}

// TargetColumns is the result for one target.
type TargetColumns struct {
	// Target is the target's name, "" if it is the only one.
	Target  string
	Columns []Column
	// Info holds further members of the JSON object.
	Info map[string]any
}

// Add adds a column. key is its path in the JSON object, by default its name.
func (p *TargetColumns) Add(name string, values []float64, key ...string) {
	if key == nil {
		key = []string{name}
	}
	p.Columns = append(p.Columns, Column{name, values, key})
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
		at[c.key[last]] = c.Values
	}
	maps.Copy(root, p.Info)
	return root
}

// Sheet writes columns of rows incrementally as CSV, or as one JSON object at the
// end. The columns of several targets are named TARGET.NAME.
type Sheet struct {
	w      io.Writer
	csv    *bufio.Writer // nil for JSON
	info   map[string]any
	header bool // has been written
	rows   int
	all    []TargetColumns // of JSON
	line   []byte
}

// NewSheet returns a sheet that writes to w. info holds further members of the JSON
// object.
func NewSheet(w io.Writer, asJSON bool, info map[string]any) *Sheet {
	t := &Sheet{w: w, info: info}
	if !asJSON {
		t.csv = bufio.NewWriterSize(w, 1<<16)
	}
	return t
}

// Add writes further rows. All calls must pass parts of the same form. If a number
// is not finite, Add returns a [*gp.RangeError] and writes none of the rows.
func (t *Sheet) Add(parts []TargetColumns) error {
	for _, p := range parts {
		for _, c := range p.Columns {
			if i := slices.IndexFunc(c.Values, func(v float64) bool { return v-v != 0 }); i >= 0 {
				return &gp.RangeError{What: c.Name, Row: t.rows + i}
			}
		}
	}
	t.rows += len(parts[0].Columns[0].Values)
	switch {
	case t.csv != nil:
		return t.addCSV(parts)
	case t.all == nil:
		t.all = slices.Clone(parts)
		return nil
	}
	for i, p := range parts {
		for q, c := range p.Columns {
			all := &t.all[i].Columns[q]
			all.Values = append(all.Values, c.Values...)
		}
	}
	return nil
}

func (t *Sheet) addCSV(parts []TargetColumns) error {
	var names []string
	var columns [][]float64
	for _, p := range parts {
		for _, c := range p.Columns {
			if p.Target != "" {
				c.Name = p.Target + "." + c.Name
			}
			names, columns = append(names, c.Name), append(columns, c.Values)
		}
	}
	if !t.header {
		t.header = true
		header := csv.NewWriter(t.csv)
		if err := header.Write(names); err != nil {
			return err
		}
		header.Flush()
	}
	for i := range columns[0] {
		t.line = t.line[:0]
		for _, values := range columns {
			t.line = append(strconv.AppendFloat(t.line, values[i], 'g', -1, 64), ',')
		}
		t.line[len(t.line)-1] = '\n'
		if _, err := t.csv.Write(t.line); err != nil {
			return err
		}
	}
	return nil
}

// End writes the rest. It does not close the writer.
func (t *Sheet) End() error {
	if t.csv != nil {
		return t.csv.Flush()
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
	object["n"], object["schema_version"] = t.rows, 1
	maps.Copy(object, t.info)
	return json.NewEncoder(t.w).Encode(object)
}

// Write writes a table that consists of one piece.
func Write(w io.Writer, asJSON bool, info map[string]any, p TargetColumns) error {
	t := NewSheet(w, asJSON, info)
	if err := t.Add([]TargetColumns{p}); err != nil {
		return err
	}
	return t.End()
}

package main

import (
	"bufio"
	"encoding/csv"
	"io"
	"slices"
	"strconv"
)

// column is a named column of a result.
type column struct {
	name   string
	values []float64
	// key is its path in a JSON object; nil for what is there in another form.
	key []string
}

// part is the result for one target: columns, and what else a JSON object has.
type part struct {
	// target is its name, "" where there is only one.
	target  string
	columns []column
	info    map[string]any
}

// add adds a column with a key of JSON, by default its name.
func (p *part) add(name string, values []float64, key ...string) {
	if key == nil {
		key = []string{name}
	}
	p.columns = append(p.columns, column{name, values, key})
}

// object returns the columns and info as a JSON object.
func (p *part) object() map[string]any {
	root := map[string]any{}
	put := func(key []string, v any) {
		at := root
		for _, k := range key[:len(key)-1] {
			if at[k] == nil {
				at[k] = map[string]any{}
			}
			at = at[k].(map[string]any)
		}
		at[key[len(key)-1]] = v
	}
	for _, c := range p.columns {
		if c.key != nil {
			put(c.key, c.values)
		}
	}
	for k, v := range p.info {
		root[k] = v
	}
	return root
}

// resultWriter writes columns of rows as they come, as CSV; or one JSON object
// at the end. Columns of several targets are called TARGET.NAME.
type resultWriter struct {
	w   io.Writer
	csv *bufio.Writer // nil for JSON
	// info is what the JSON object has beside the parts.
	info   map[string]any
	header bool // has been written
	rows   int
	all    []part // of JSON
	line   []byte
}

func newResultWriter(w io.Writer, asJSON bool, info map[string]any) *resultWriter {
	out := &resultWriter{w: w, info: info}
	if !asJSON {
		out.csv = bufio.NewWriterSize(w, 1<<16)
	}
	return out
}

// add writes further rows: parts of the same form every time.
func (out *resultWriter) add(parts []part) error {
	out.rows += len(parts[0].columns[0].values)
	switch {
	case out.csv != nil:
		return out.addCSV(parts)
	case out.all == nil:
		out.all = slices.Clone(parts)
		return nil
	}
	for i, p := range parts {
		for q, c := range p.columns {
			out.all[i].columns[q].values = append(out.all[i].columns[q].values, c.values...)
		}
	}
	return nil
}

func (out *resultWriter) addCSV(parts []part) error {
	var columns []column
	for _, p := range parts {
		for _, c := range p.columns {
			if p.target != "" {
				c.name = p.target + "." + c.name
			}
			columns = append(columns, c)
		}
	}
	if !out.header {
		out.header = true
		names := make([]string, len(columns))
		for q, c := range columns {
			names[q] = c.name
		}
		header := csv.NewWriter(out.csv)
		if err := header.Write(names); err != nil {
			return err
		}
		header.Flush()
	}
	for i := range columns[0].values {
		out.line = out.line[:0]
		for q, c := range columns {
			if q > 0 {
				out.line = append(out.line, ',')
			}
			out.line = strconv.AppendFloat(out.line, c.values[i], 'g', -1, 64)
		}
		if _, err := out.csv.Write(append(out.line, '\n')); err != nil {
			return err
		}
	}
	return nil
}

// end writes what is left.
func (out *resultWriter) end() error {
	if out.csv != nil {
		return out.csv.Flush()
	}
	object := map[string]any{}
	if len(out.all) == 1 && out.all[0].target == "" {
		object = out.all[0].object()
	} else {
		targets := make([]map[string]any, len(out.all))
		for i := range out.all {
			targets[i] = out.all[i].object()
			targets[i]["name"] = out.all[i].target
		}
		object["targets"] = targets
	}
	object["n"], object["schema_version"] = out.rows, 1
	for k, v := range out.info {
		object[k] = v
	}
	return encodeJSON(out.w, object, nil)
}

// writeAll writes a result of one piece.
func writeAll(w io.Writer, asJSON bool, info map[string]any, p part) error {
	out := newResultWriter(w, asJSON, info)
	if err := out.add([]part{p}); err != nil {
		return err
	}
	return out.end()
}

// levelName is a probability in percent, as in lower95.
func levelName(p float64) string { return strconv.FormatFloat(100*p, 'g', 10, 64) }

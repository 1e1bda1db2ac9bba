package results

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"gpfit/fit/summary"
	"gpfit/internal/fuzzguard"
	"gpfit/internal/must"
	"gpfit/internal/rundir"
)

// elements returns the number of elements of a page by name. It fails the test if the
// page is not well-formed or an element has an event handler. It replaces control
// characters first, because HTML allows them and XML does not.
func elements(t *testing.T, page string) map[string]int {
	t.Helper()
	clean := strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r >= '\uFFFE' && r <= '\uFFFF' {
			return '?'
		}
		return r
	}, page)
	d := xml.NewDecoder(strings.NewReader(clean))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	count := map[string]int{}
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return count
		}
		if err != nil {
			t.Fatal(err)
		}
		if start, ok := token.(xml.StartElement); ok {
			count[start.Name.Local]++
			for _, a := range start.Attr {
				if strings.HasPrefix(strings.ToLower(a.Name.Local), "on") {
					t.Fatalf("<%s> has the attribute %s", start.Name.Local, a.Name.Local)
				}
			}
		}
	}
}

// named returns rows and a run in which every name is text.
func named(text string) ([]Row, *rundir.Run) {
	all, r := rows(), run()
	for i := range all {
		all[i].Job, all[i].Kind, all[i].Error, all[i].Status, all[i].Device, all[i].Model = text, text, text, text, text, text
		if all[i].Data == "a" {
			all[i].Data = text
		}
		if all[i].Kernel == "p" {
			all[i].Kernel = text
		}
		if parameters, err := json.Marshal(map[string]float64{text: 1}); err == nil {
			all[i].Parameters = string(parameters)
		}
		if relevance, err := json.Marshal([]summary.ColumnRelevance{{Column: text, Relevance: 0.5}}); err == nil {
			all[i].Relevance, all[i].Verdict = string(relevance), text
		}
	}
	r.Name, r.Program, r.Dir, r.Inputs[0].Path = text, text, text, text
	return all, r
}

// FuzzNames checks output with arbitrary names of columns, files and jobs: a page has
// the same elements as with plain names, JSON lines and CSV contain the name
// unchanged, and no format costs much time or memory.
func FuzzNames(f *testing.F) {
	for _, text := range []string{"<script>alert(1)</script>", `"><img src=x onerror=alert(1)>`, "' onload='x", "</svg><b>", "<!--", "]]>", "&lt;&", "a\nb,\"c\"", "=1+1", "\u202e", "{{.}}", "\\frac{1}{2}", "é", "\x00", "x\u200b"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if text == "" || text == "b" || text == "q" || len(text) > 200 || !utf8.ValidString(text) {
			return // the page must have as many data sets and kernels as with plain names
		}
		fuzzguard.Run(t, func() { checkNames(t, text) })
	})
}

func checkNames(t *testing.T, text string) {
	all, r := named(text)
	plainRows, plainRun := named("plain")
	var b, plain bytes.Buffer
	must.Do(t, errors.Join(WriteHTML(&b, r, all), WriteHTML(&plain, plainRun, plainRows)))
	got, want := elements(t, b.String()), elements(t, plain.String())
	// A plot draws a name as glyphs, one for each letter.
	for _, drawn := range []string{"path", "text", "tspan", "g", "use"} {
		delete(got, drawn)
		delete(want, drawn)
	}
	if !maps.Equal(got, want) {
		t.Fatalf("%q: elements %v, with plain names %v", text, got, want)
	}
	b.Reset()
	must.Do(t, Write(&b, "json", r, all))
	var first struct{ Job, Error string }
	if err := json.NewDecoder(&b).Decode(&first); err != nil || first.Job != text || first.Error != text {
		t.Fatalf("%q: JSON gives %+v, %v", text, first, err)
	}
	b.Reset()
	must.Do(t, Write(&b, "csv", r, all))
	lines, err := csv.NewReader(&b).ReadAll()
	if err != nil || len(lines) != len(all)+1 || lines[1][0] != strings.ReplaceAll(text, "\r\n", "\n") {
		t.Fatalf("%q: CSV gives %q, %v", text, lines, err)
	}
	must.Do(t, errors.Join(Write(io.Discard, "table", r, all), Write(io.Discard, "parquet", r, all)))
}

// FuzzCollect checks that Collect either refuses arbitrary records as damaged or returns
// rows that every format can write, and that the JSON lines are valid.
func FuzzCollect(f *testing.F) {
	event := `{"type":"done","fingerprint":"f","report":{"nlml":1.5,"status":"x","parameters":{"a":1},"test":{"rmse":1,"nlpd":null}}}` + "\n"
	for _, text := range []string{"", event, strings.Replace(event, "1.5", "1e308", 1), strings.Replace(event, "null", "\"inf\"", 1), `{"type":"done","fingerprint":"f"}` + "\n", `{"type":"failed","fingerprint":"f","error":"<b>"}` + "\n"} {
		f.Add([]byte(text))
	}
	dir := f.TempDir()
	must.Do(f, os.MkdirAll(filepath.Join(dir, "jobs"), 0o700))
	r := &rundir.Run{Dir: dir}
	for _, id := range []string{"a.k", "a.l"} {
		j := rundir.PlannedJob{Fingerprint: "f"}
		j.ID, j.Data, j.Kernel = id, "a", id
		r.Jobs = append(r.Jobs, j)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, j := range r.Jobs {
			must.Do(t, os.WriteFile(r.Path("jobs", j.ID), text, 0o600))
		}
		fuzzguard.Run(t, func() { checkCollect(t, r) })
	})
}

func checkCollect(t *testing.T, r *rundir.Run) {
	all, err := Collect(r)
	if err != nil {
		if !errors.As(err, new(*rundir.Error)) {
			t.Fatalf("%#v", err)
		}
		return
	}
	var page, lines bytes.Buffer
	err = errors.Join(WriteHTML(&page, r, all), Write(&lines, "json", r, all), Write(io.Discard, "csv", r, all), Write(io.Discard, "table", r, all), Write(io.Discard, "parquet", r, all))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range slices.Collect(bytes.Lines(lines.Bytes())) {
		if !json.Valid(line) {
			t.Fatalf("not JSON: %s", line)
		}
	}
	elements(t, page.String())
}

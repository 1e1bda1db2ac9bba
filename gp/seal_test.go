package gp

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"

	"gpfit/gp/modeltest"
	"gpfit/internal/testcheck"
	"gpfit/method/experts"
)

// headerOf is the header of a model file as JSON.
func headerOf(t *testing.T, file []byte) (v any) {
	archive := testcheck.Get(zip.NewReader(bytes.NewReader(file), int64(len(file))))(t)
	testcheck.Do(t, json.Unmarshal(testcheck.Get(readText(archive, headerEntry))(t), &v))
	return v
}

// TestSeal edits values of the headers of models of every kind, makes the checksum right, and demands that no edit passes: names,
// units, categories, draws, weight columns, and transforms, too. What means the same passes.
func TestSeal(t *testing.T) {
	places, edits, every := map[string]bool{}, 0, 41
	if testcheck.Long() {
		every = 1
	}
	for name, m := range checkedModels(t, 12) {
		path := saved(t, m.Save)
		file := testcheck.Get(os.ReadFile(path))(t)
		if c, err := Check(t.Context(), path, experts.Blocks); err != nil || !c.Sealed {
			t.Fatalf("%s: %+v, %v", name, c, err)
		}
		whole, drawn := headerOf(t, file), 0
		want := func() bool { drawn++; return drawn%every == 0 }
		modeltest.EachValue(t, file, want, func(place string, edited []byte) {
			testcheck.Do(t, os.WriteFile(path, edited, 0o600))
			_, err := Check(t.Context(), path, experts.Blocks)
			var same bool
			if !strings.HasSuffix(place, "variation 6") { // it is nested too deeply to be read
				same = reflect.DeepEqual(headerOf(t, edited), whole)
			}
			if same != (err == nil) {
				t.Errorf("%s: %s: the same contents: %v; check: %v", name, place, same, err)
			}
			edits++
			places[strings.Split(strings.TrimPrefix(place, "model.json."), ".")[0]] = true
		})
	}
	t.Logf("%d edits of %d fields", edits, len(places))
	if edits < 100 || len(places) < 15 {
		t.Errorf("only %d edits of %d fields", edits, len(places))
	}
}

// TestSealOfRows: the numbers of rows in the table have no equation, and a file of an older program has no seal.
func TestSealOfRows(t *testing.T) {
	m := newModel(t, 6)
	m.Rows = []float64{0, 1, 2, 3, 4, 6}
	m = settled(t, m)
	path := saved(t, m.Save)
	file := testcheck.Get(os.ReadFile(path))(t)
	testcheck.Do(t, os.WriteFile(path, modeltest.Numbers(t, file, "rows", func(v []float64) { v[5] = 5 }), 0o600))
	if _, err := Check(t.Context(), path, experts.Blocks); err == nil {
		t.Error("another number of a row passes")
	}
	older := bytes.ReplaceAll(file, []byte(sealEntry), []byte("read.txt"))
	testcheck.Do(t, os.WriteFile(path, modeltest.Numbers(t, older, "", nil), 0o600))
	if c, err := Check(t.Context(), path, experts.Blocks); err != nil || c.Sealed {
		t.Errorf("a file without a seal: %+v, %v", c, err)
	}
}

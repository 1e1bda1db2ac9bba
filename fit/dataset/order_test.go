package dataset

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/parquet-go/parquet-go"
	"pgregory.net/rapid"

	"gpfit/gp"
	"gpfit/internal/testcheck"
	"gpfit/table"
	"gpfit/table/feature"
	"gpfit/table/formats"
)

// orderRow is a row to predict: its number, a number and a label that may be missing.
type orderRow struct {
	ID string   `json:"id" parquet:"id"`
	A  *float64 `json:"a" parquet:"a,optional"`
	G  *string  `json:"g" parquet:"g,optional"`
}

// orderLabels are the categories of the model: as texts they need quotes, or look like something else.
var orderLabels = []string{"#3", `a "b"`, "c,d;e", "f\ng\n\nh", "i", "null or not"}

// TestOneRowEach checks that each row of a table in any format and dialect has one row to predict,
// in its place, and that nothing else has; missing values are an error, a blank row or a left out one.
func TestOneRowEach(t *testing.T) {
	m := modelOf([]float64{1, 0}, []float64{0, 1}, []string{"a", "g"}, &feature.Encoding{Columns: []feature.Coding{
		{Name: "a", Kind: feature.Number}, {Name: "g", Kind: feature.Category, Categories: orderLabels, Codes: true}}})
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		gaps := rapid.Bool().Draw(t, "gaps")
		rows := make([]orderRow, rapid.IntRange(1, 40).Draw(t, "n"))
		for i := range rows {
			rows[i].ID = strconv.Itoa(i)
			if !gaps || rapid.IntRange(0, 5).Draw(t, "has a") > 0 {
				rows[i].A = new(float64(rapid.IntRange(0, 3).Draw(t, "a")) / 4) // often repeated
			}
			if !gaps || rapid.IntRange(0, 5).Draw(t, "has g") > 0 {
				rows[i].G = &orderLabels[rapid.IntRange(0, len(orderLabels)-1).Draw(t, "g")]
			}
		}
		name := rapid.SampledFrom([]string{"csv", "jsonl", "parquet", "arrow"}).Draw(t, "format")
		content := map[string]func(*rapid.T, []orderRow) []byte{"csv": orderCSV, "jsonl": orderLines, "parquet": orderParquet, "arrow": orderArrow}[name](t, rows)
		path := filepath.Join(dir, "t")
		testcheck.Do(t, os.WriteFile(path, content, 0o600))
		checkOrder(t, path, m, rows, rapid.SampledFrom([]string{"error", "drop", "blank"}).Draw(t, "missing"))
	})
}

func checkOrder(t *rapid.T, path string, m *gp.Model, rows []orderRow, missing string) {
	var ids []string
	var x []float64
	var blank []bool
	for _, r := range rows {
		gap := r.A == nil || r.G == nil
		if !gap {
			x = append(x, *r.A, float64(slices.Index(orderLabels, *r.G)))
		}
		if !gap || missing == "blank" {
			ids, blank = append(ids, r.ID), append(blank, gap)
		}
	}
	in, err := OpenRows(path, nil, m, RowOptions{Missing: missing, Keep: []string{"id"}, Formats: []table.Format{formats.Parquet(), formats.Arrow()}})
	testcheck.Do(t, err)
	defer in.Close()
	got, err := in.All()
	if fails := missing == "error" && len(ids) < len(rows) || len(ids) == 0; fails || err != nil {
		if !fails || err == nil {
			t.Fatalf("%d of %d rows: %v", len(ids), len(rows), err)
		}
		return
	}
	if !slices.Contains(blank, true) {
		blank = nil
	}
	if got.Total != len(ids) || !slices.Equal(got.Keep[0], ids) || !slices.Equal(got.X, x) || !slices.Equal(got.Blank, blank) {
		t.Fatalf("rows %q, want %q; %v, want %v; blank %v, want %v", got.Keep, ids, got.X, x, got.Blank, blank)
	}
}

// orderCSV writes text with blank lines, comments and unneeded quotes, perhaps compressed.
func orderCSV(t *rapid.T, rows []orderRow) []byte {
	sep, end := rapid.SampledFrom([]string{",", ";", "\t"}).Draw(t, "separator"), rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "line end")
	var b strings.Builder
	line := func(cells ...string) {
		b.WriteString(rapid.SampledFrom([]string{"", "", "  " + end, end + end}).Draw(t, "between"))
		b.WriteString(strings.Join(cells, sep) + end)
	}
	quoted := func(text string) string { return `"` + strings.ReplaceAll(text, `"`, `""`) + `"` }
	if rapid.Bool().Draw(t, "mark") {
		b.WriteString("\ufeff")
	}
	b.WriteString(rapid.SampledFrom([]string{"", "", "# a note" + end}).Draw(t, "comment"))
	line(rapid.SampledFrom([]string{"g", `"g"`}).Draw(t, "name"), "id", "a")
	for _, r := range rows {
		a, g := rapid.SampledFrom([]string{"", "NA", "nan"}).Draw(t, "gap"), rapid.SampledFrom([]string{"", "NA", `""`}).Draw(t, "gap")
		if r.A != nil {
			a = fmt.Sprint(*r.A)
		}
		if r.G != nil {
			if g = *r.G; g != "#3" || rapid.Bool().Draw(t, "quotes") {
				g = quoted(g)
			}
		}
		line(g, r.ID, a)
	}
	text := b.String()
	switch rapid.IntRange(0, 2).Draw(t, "end") {
	case 0:
		text = strings.TrimSuffix(text, end)
	case 1:
		text += end + end
	default:
		var z bytes.Buffer
		w := gzip.NewWriter(&z)
		testcheck.Get(w.Write([]byte(text)))(t)
		testcheck.Do(t, w.Close())
		return z.Bytes()
	}
	return []byte(text)
}

func orderLines(t *rapid.T, rows []orderRow) []byte {
	var b bytes.Buffer
	for _, r := range rows {
		b.Write(testcheck.Get(json.Marshal(r))(t))
		b.WriteString(rapid.SampledFrom([]string{"\n", "\r\n", "\n\n"}).Draw(t, "line end"))
	}
	return b.Bytes()
}

func orderParquet(t *rapid.T, rows []orderRow) []byte {
	var b bytes.Buffer
	w := parquet.NewGenericWriter[orderRow](&b, parquet.MaxRowsPerRowGroup(int64(rapid.IntRange(1, 9).Draw(t, "group"))))
	testcheck.Get(w.Write(rows))(t)
	testcheck.Do(t, w.Close())
	return b.Bytes()
}

func orderArrow(t *rapid.T, rows []orderRow) []byte {
	var b bytes.Buffer
	text := arrow.BinaryTypes.String
	schema := arrow.NewSchema([]arrow.Field{{Name: "id", Type: text}, {Name: "a", Type: arrow.PrimitiveTypes.Float64, Nullable: true}, {Name: "g", Type: text, Nullable: true}}, nil)
	w := testcheck.Get(ipc.NewFileWriter(&b, ipc.WithSchema(schema)))(t)
	for batch := range slices.Chunk(rows, rapid.IntRange(1, 9).Draw(t, "batch")) {
		of := array.NewRecordBuilder(memory.DefaultAllocator, schema)
		id, a, g := of.Field(0).(*array.StringBuilder), of.Field(1).(*array.Float64Builder), of.Field(2).(*array.StringBuilder)
		for _, r := range batch {
			id.Append(r.ID)
			if r.A == nil {
				a.AppendNull()
			} else {
				a.Append(*r.A)
			}
			if r.G == nil {
				g.AppendNull()
			} else {
				g.Append(*r.G)
			}
		}
		testcheck.Do(t, w.Write(of.NewRecordBatch()))
	}
	testcheck.Do(t, w.Close())
	return b.Bytes()
}

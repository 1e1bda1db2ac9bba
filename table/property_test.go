package table

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"gpfit/internal/testcheck"
)

// finite draws finite float64 numbers of all magnitudes.
var finite = rapid.Custom(func(t *rapid.T) float64 {
	if rapid.Bool().Draw(t, "any bits") {
		if v := math.Float64frombits(rapid.Uint64().Draw(t, "bits")); !math.IsNaN(v) && !math.IsInf(v, 0) {
			return v
		}
	}
	return rapid.Float64Range(-1e3, 1e3).Draw(t, "number")
})

// TestRoundTrip checks that random tables written by encoding/csv are read back with the same bits.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, d := rapid.IntRange(1, 30).Draw(t, "n"), rapid.IntRange(1, 8).Draw(t, "d")
		comma := rapid.SampledFrom([]rune{',', ';', '\t'}).Draw(t, "comma")
		header := rapid.Bool().Draw(t, "header")
		format := rapid.SampledFrom([]byte("geE")).Draw(t, "format")

		opts := Options{Header: HeaderNo}
		var names []string
		var text bytes.Buffer
		if rapid.Bool().Draw(t, "bom") {
			text.WriteString("\ufeff")
		}
		w := csv.NewWriter(&text)
		w.Comma, w.UseCRLF = comma, rapid.Bool().Draw(t, "crlf")
		if header {
			opts.Header = HeaderYes
			for c := range d + 1 {
				name := rapid.StringMatching(`[a-z,;"\t |\n→é]{0,6}`).Draw(t, "name")
				// The first name must not look like a comment or a blank line.
				names = append(names, fmt.Sprintf("c%d%s.", c, name))
			}
			testcheck.Do(t, w.Write(names))
			for c := range names {
				if w.UseCRLF { // the writer changes line ends in cells, too
					names[c] = strings.ReplaceAll(names[c], "\n", "\r\n")
				}
			}
		}
		values := make([]float64, 0, n*(d+1))
		for range n {
			var record []string
			for range d + 1 {
				v := finite.Draw(t, "value")
				values = append(values, v)
				record = append(record, strconv.FormatFloat(v, format, -1, 64))
			}
			testcheck.Do(t, w.Write(record))
		}
		w.Flush()

		source := text.String()
		got := testcheck.Get(ReadFrom(strings.NewReader(source), "T", opts))(t)
		checkInvariants(t, got)
		if got.N != n || got.D != d {
			t.Fatalf("%d×%d read, %d×%d written", got.N, got.D, n, d)
		}
		for i := range n {
			row := append(append([]float64{}, got.X[i*d:(i+1)*d]...), got.Y[i])
			for j, v := range row {
				if math.Float64bits(v) != math.Float64bits(values[i*(d+1)+j]) {
					t.Fatalf("row %d, column %d: %v became %v", i, j, values[i*(d+1)+j], v)
				}
			}
		}
		if read := append(slices.Clone(got.FeatureNames), got.TargetName); header && !slices.Equal(read, names) {
			t.Fatalf("names %q became %q", names, read)
		}
	})
}

// TestLines checks line numbers against the offsets that encoding/csv gives,
// with comments before, blank lines and quoted line ends in between.
func TestLines(t *testing.T) {
	pieces := []string{"1,2\n", "\n", "\r\n", "\"3\n\",4\n", "5,\"\r\n\r\n6\"\r\n", "\"7\",8\r\n"}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SampledFrom([]string{"", "# c\n", "# \"\n\n#\n"}).Draw(t, "comments") + "0,0\n" + strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 20).Draw(t, "pieces"), "")
		want := csv.NewReader(strings.NewReader(text))
		want.Comment = '#'
		got := testcheck.Get(ReadFrom(strings.NewReader(text), "T", Options{}))(t)
		for i := range got.N {
			testcheck.Get(want.Read())(t)
			if line, _ := want.FieldPos(0); line != got.Line[i] {
				t.Fatalf("row %d: line %d, want %d, in %q", i, got.Line[i], line, text)
			}
		}
	})
}

// checkInvariants fails unless tab satisfies the promises of Table.
func checkInvariants(t interface{ Fatalf(string, ...any) }, tab *Table) {
	if tab.N < 1 || tab.D < 1 || len(tab.X) != tab.N*tab.D || len(tab.FeatureNames) != tab.D || len(tab.Line) != tab.N {
		t.Fatalf("sizes: n=%d d=%d, %d inputs, %d names, %d lines", tab.N, tab.D, len(tab.X), len(tab.FeatureNames), len(tab.Line))
	}
	if tab.Y == nil && tab.TargetName != "" || tab.Y != nil && (len(tab.Y) != tab.N || tab.TargetName == "") {
		t.Fatalf("sizes: n=%d, %d outputs, target %q", tab.N, len(tab.Y), tab.TargetName)
	}
	for _, v := range append(append([]float64{}, tab.X...), tab.Y...) {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			t.Fatalf("not finite: %v", v)
		}
	}
	for name, v := range tab.Extra {
		if len(v) != tab.N {
			t.Fatalf("%d rows, %d of column %q", tab.N, len(v), name)
		}
	}
	for name, v := range tab.ExtraText {
		if len(v) != tab.N || slices.Contains(v, "") {
			t.Fatalf("%d rows, %d of column %q: %q", tab.N, len(v), name, v)
		}
	}
	if tab.SourceRows < tab.N || tab.Row == nil && tab.SourceRows != tab.N || tab.Row != nil && len(tab.Row) != tab.N {
		t.Fatalf("%d rows of %d: %v", tab.N, tab.SourceRows, tab.Row)
	}
	last := 0
	for i, line := range tab.Line {
		if line <= last {
			t.Fatalf("row %d is on line %d, the one before on %d", i, line, last)
		}
		last = line
	}
}

var headers = []HeaderMode{HeaderAuto, HeaderYes, HeaderNo}

// FuzzRead reads any text with any options, and expects a sound table or an [*Error].
func FuzzRead(f *testing.F) {
	for i, c := range tableCases {
		if len(c.text) < 1000 {
			f.Add([]byte(c.text), c.opts.Target, strings.Join(c.opts.Features, "\n"), uint8(i%6))
		}
	}
	for _, c := range errorCases {
		if len(c.text) < 1000 {
			f.Add([]byte(c.text), c.opts.Target, strings.Join(c.opts.Features, "\n"), uint8(max(0, slices.Index(headers, c.opts.Header))))
		}
	}
	f.Fuzz(func(t *testing.T, text []byte, target, features string, flags uint8) {
		opts := Options{Target: target, NoTarget: flags/3%2 == 1, Header: headers[flags%3]}
		if flags/6%2 == 1 {
			opts.Missing = MissingDrop
		}
		if flags/12%2 == 1 {
			opts.Subsample, opts.Seed = 2, uint64(flags)
		}
		if flags/24%2 == 1 {
			opts.Extra, opts.ExtraText = []string{"0"}, []string{"1", "a"}
		}
		if features != "" {
			opts.Features = strings.Split(features, "\n")
		}
		got, err := ReadFrom(bytes.NewReader(text), "T", opts)
		if err == nil {
			checkInvariants(t, got)
			return
		}
		var e *Error
		if !errors.As(err, &e) || got != nil || e.Msg == "" || e.Source != "T" || e.Line < 0 || e.Column < 0 {
			t.Fatalf("table %v, error %#v", got, err)
		}
		lines := 1 + bytes.Count(text, []byte{'\n'}) + bytes.Count(text, []byte{'\r'}) // either ends a line
		if e.Line > lines && !bytes.HasPrefix(text, []byte{0x1f, 0x8b}) {
			t.Fatalf("error on line %d of %d", e.Line, lines)
		}
	})
}

// BenchmarkRead reads 20,000 rows of 9 numbers with 17 digits.
func BenchmarkRead(b *testing.B) {
	for _, form := range []struct {
		name, sep, quote string
	}{{"comma", ",", ""}, {"blank", " ", ""}, {"quoted", ",", `"`}} {
		b.Run(form.name, func(b *testing.B) {
			var text strings.Builder
			for i := range 20_000 {
				for j := range 9 {
					if j > 0 {
						text.WriteString(form.sep)
					}
					text.WriteString(form.quote + strconv.FormatFloat(math.Sin(float64(9*i+j)), 'g', -1, 64) + form.quote)
				}
				text.WriteByte('\n')
			}
			s := text.String()
			b.SetBytes(int64(len(s)))
			b.ReportAllocs()
			for b.Loop() {
				testcheck.Get(ReadFrom(strings.NewReader(s), "T", Options{}))(b)
			}
		})
	}
}

// TestAllocations checks that rows cost no allocation beyond the growth of the result.
func TestAllocations(t *testing.T) {
	const n = 20_000
	for name, row := range map[string]string{"plain": "1.5,0.12345678901234567,3\n", "quoted": "\"1.5\", 2,3\n"} {
		text := strings.Repeat(row, n)
		allocs := testing.AllocsPerRun(2, func() {
			testcheck.Get(ReadFrom(strings.NewReader(text), "T", Options{}))(t)
		})
		if allocs > n/50 {
			t.Errorf("%s: %.0f allocations for %d rows", name, allocs, n)
		}
	}
}

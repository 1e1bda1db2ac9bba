package table

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/text/encoding/unicode"

	"gpfit/internal/testcheck"
	"gpfit/table/feature"
)

// worldTable is a table as programs of the world write it, with what it holds.
type worldTable struct {
	text []byte
	opts Options // what gpfit cannot find out
	// settings are arguments for pandas.
	settings worldSettings
	names    []string
	rows     [][]any // float64, string, or nil for a missing value
}

// worldSettings are arguments of read_csv, with the kind of each column: number, text or date.
type worldSettings struct {
	File     string   `json:"file"`
	Encoding string   `json:"encoding"`
	Sep      string   `json:"sep"`
	Decimal  string   `json:"decimal"`
	Header   bool     `json:"header"`
	Skip     int      `json:"skip"`
	Index    bool     `json:"index"`
	Strip    bool     `json:"strip"`
	Names    []string `json:"names"`
	Kinds    []string `json:"kinds"`
	Missing  []string `json:"missing"`
}

// worldEncodings are encodings with their names in Python, letters that they have, and the option that
// they need.
var worldEncodings = []struct {
	python, option, letters string
	marked                  []byte // a byte order mark
}{
	{"utf-8", "", "éßЖ漢😀ñ", nil}, {"utf-8", "", "abc", nil}, {"utf-8-sig", "", "éßЖ漢", []byte("\xef\xbb\xbf")}, {"utf-16", "", "éßЖ漢😀", []byte("\xff\xfe")},
	{"utf-16", "", "äöü", []byte("\xfe\xff")}, {"utf-16-le", "utf-16le", "éЖ漢", nil}, {"cp1252", "windows-1252", "éüñ€œ", nil}, {"latin-1", "latin1", "éüñ°", nil},
	{"cp1251", "cp1251", "ЖдяЫ№", nil}, {"koi8-r", "koi8-r", "ЖдяЫ", nil}, {"shift_jis", "shift_jis", "カ漢表ソ", nil}, {"gb18030", "gb18030", "漢字价", nil},
	{"mac_roman", "mac_roman", "éüñ†", nil}, {"cp437", "cp437", "éüñ", nil}, {"iso8859-2", "iso-8859-2", "łžő", nil},
}

// worldMissing are words for missing values that gpfit and pandas know.
var worldMissing = []string{"", "NA", "NaN", "nan", "null", "N/A", "#N/A", "#NA", "<NA>", "None", "1.#IND", "-1.#QNAN"}

// newWorldTable makes a table. Its form depends only on the seed.
func newWorldTable(seed uint64) *worldTable {
	r := rand.New(rand.NewPCG(seed, 0x7765))
	chance := func(p float64) bool { return r.Float64() < p }
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	from := worldEncodings[r.IntN(len(worldEncodings))]
	letters := []rune(from.letters)
	w := &worldTable{opts: Options{NoTarget: true, Columns: &feature.Rules{Codes: true}, Missing: MissingMark, Text: feature.Text{TextEncoding: from.option}}}
	s := &w.settings
	s.Encoding, s.Sep, s.Decimal, s.Header, s.Missing = from.python, pick(",", ",", ";", "\t", "|", " "), ".", true, worldMissing
	if s.Sep != "," && chance(0.4) {
		s.Decimal, w.opts.Text.Decimal = ",", ","
	}
	end := pick("\n", "\n", "\r\n", "\r")
	blanks, multiline := s.Sep == " ", s.Sep != " " && chance(0.2)
	n, d := 12+r.IntN(40), 2+r.IntN(5)

	label := func() string {
		text := pick("a", "b", "#c", "d.e", "x-1", "Z", "q", "r2d2") + string(letters[r.IntN(len(letters))])
		if !blanks {
			text += pick("", "", " u", ", v", "; w", `"x"`, "|y", "\tz", " #1")
		}
		if multiline && chance(0.3) {
			text += strings.ReplaceAll("\n2", "\n", end)
		}
		if !blanks && chance(0.1) {
			text = pick(" ", "") + text + pick(" ", "  ")
		}
		return text
	}
	s.Strip = !blanks && chance(0.2) // blanks around all cells
	labels := make([][]string, d)
	for c := range d {
		s.Kinds = append(s.Kinds, pick("number", "number", "text", "date"))
		for range 3 + r.IntN(2) {
			l := label()
			if s.Strip {
				l = strings.TrimSpace(l)
			}
			labels[c] = append(labels[c], l)
		}
		name := fmt.Sprintf("c%d%c", c, letters[r.IntN(len(letters))])
		if !blanks {
			name += pick("", "", " [m/s]", `, "net"`, "#")
		}
		w.names = append(w.names, name)
	}
	s.Kinds[d-1] = "number"
	header := pick("names", "names", "names", "names", "names", "names", "none", "years")
	switch header {
	case "none":
		s.Header = false
		for c := range w.names {
			s.Kinds[c], w.names[c] = "number", fmt.Sprintf("x%d", c)
		}
	case "years":
		if chance(0.7) {
			header = "names"
			break
		}
		for c := range w.names {
			w.names[c] = strconv.Itoa(2015 + c)
		}
	}
	s.Index = header == "names" && !blanks && chance(0.1)
	gaps := 0.0
	if chance(0.4) {
		gaps = 0.05
	}
	number := func() (float64, string) {
		v := r.NormFloat64() * []float64{1, 1e3, 1e-4}[r.IntN(3)]
		text := strconv.FormatFloat(v, "gfe"[r.IntN(3)], -1, 64)
		switch r.IntN(6) {
		case 0:
			text = strconv.Itoa(r.IntN(2000) - 1000)
		case 1:
			text = strconv.FormatFloat(v, 'f', 2, 64)
		case 2:
			text = "+" + strings.TrimPrefix(strconv.FormatFloat(v, 'E', 5, 64), "-")
		}
		v, _ = strconv.ParseFloat(text, 64) // it is a number
		return v, strings.Replace(text, ".", s.Decimal, 1)
	}

	style := pick("minimal", "minimal", "all", "texts", "names")
	quoted := func(cell string, isText, isName bool) string {
		special := strings.ContainsAny(cell, "\"\r\n"+s.Sep) || cell != strings.TrimSpace(cell) || blanks && cell == "" ||
			isName && strings.HasPrefix(cell, "#") || s.Sep == "\t" && cell == "" && style == "all"
		if special || style == "all" || style == "texts" && isText || style == "names" && isName {
			cell = `"` + strings.ReplaceAll(cell, `"`, `""`) + `"`
		}
		if s.Strip {
			cell = pick("", " ", "  ") + cell + pick("", " ")
		}
		return cell
	}
	sep := func() string {
		if blanks {
			return pick(" ", "  ", "   ")
		}
		return s.Sep
	}
	var text strings.Builder
	line := func(cells []string) {
		for c, cell := range cells {
			if c > 0 {
				text.WriteString(sep())
			}
			text.WriteString(cell)
		}
		text.WriteString(end)
	}
	if chance(0.25) {
		for range 1 + r.IntN(3) {
			text.WriteString("# made by " + string(letters[0]) + ", \"1.2\"" + end)
			s.Skip++
		}
	}
	if s.Header {
		var cells []string
		if s.Index {
			cells = append(cells, quoted("", true, true))
		}
		for _, name := range w.names {
			cells = append(cells, quoted(name, true, true))
		}
		line(cells)
	}
	between := chance(0.2) // blank lines
	for i := range n {
		if between && chance(0.1) && i > 0 {
			text.WriteString(end)
		}
		var cells []string
		var row []any
		if s.Index {
			cells = append(cells, quoted(strconv.Itoa(i), false, false))
		}
		for c, kind := range s.Kinds {
			var value any
			var cell string
			switch kind {
			case "number":
				value, cell = number()
			case "date":
				day := r.IntN(20000)
				value, cell = float64(day), time.Unix(int64(day)*86400, 0).UTC().Format(time.DateOnly)
			default:
				cell = labels[c][r.IntN(len(labels[c]))]
				value = cell
			}
			if i >= 3 && chance(gaps) {
				value, cell = nil, worldMissing[r.IntN(len(worldMissing))]
			}
			row, cells = append(row, value), append(cells, quoted(cell, kind == "text" || value == nil, false))
		}
		w.rows = append(w.rows, row)
		line(cells)
	}
	all := text.String()
	if chance(0.3) {
		all = strings.TrimSuffix(all, end)
	}
	w.text = worldBytes(all, from.option, from.marked)
	if s.Names = w.names; chance(0.1) {
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		_, err := z.Write(w.text)
		if err = errors.Join(err, z.Close()); err != nil {
			panic(err)
		}
		w.text = packed.Bytes()
	}
	return w
}

// worldBytes encodes a text.
func worldBytes(text, option string, mark []byte) []byte {
	into, err := textEncoding(option)
	switch string(mark) {
	case "\xff\xfe":
		into = unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)
	case "\xfe\xff":
		into = unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)
	}
	out := []byte(text)
	if into != nil {
		var failed error
		out, failed = into.NewEncoder().Bytes(out)
		err = cmp.Or(err, failed)
	}
	if err != nil {
		panic(fmt.Sprintf("%s: %v", option, err))
	}
	return slices.Concat(mark, out)
}

// read reads the table by gpfit.
func (w *worldTable) read(header HeaderMode) (names []string, rows [][]any, err error) {
	opts := w.opts
	opts.Header = header
	t, err := ReadFrom(bytes.NewReader(w.text), "T", opts)
	if err != nil {
		return nil, nil, err
	}
	for i := range t.N {
		row := make([]any, t.D)
		for c := range t.D {
			v := t.X[i*t.D+c]
			row[c] = v
			if t.Encoding == nil {
				continue
			}
			if as := t.Encoding.Columns[c]; as.Kind == feature.Category && !t.Gap[i] {
				row[c] = as.Categories[int(v)]
			}
		}
		if t.Gap[i] {
			row = nil
		}
		rows = append(rows, row)
	}
	return t.FeatureNames, rows, nil
}

// whole returns rows, but nil for each row that has a missing value.
func whole(rows [][]any) [][]any {
	out := slices.Clone(rows)
	for i, row := range out {
		if slices.Contains(row, nil) {
			out[i] = nil
		}
	}
	return out
}

// readWorld reads a table and compares it with the truth. asked says that gpfit asks for the header.
func readWorld(t *testing.T, seed uint64, w *worldTable) (asked bool) {
	t.Helper()
	names, rows, err := w.read(HeaderAuto)
	var e *Error
	if errors.As(err, &e) && strings.Contains(e.Msg, "is this row the header or data?") {
		asked = true
		names, rows, err = w.read(map[bool]HeaderMode{true: HeaderYes, false: HeaderNo}[w.settings.Header])
	}
	if err != nil {
		t.Errorf("table %d: %v\n%+v\n%.600q", seed, err, w.settings, w.text)
		return asked
	}
	if !slices.Equal(names, w.names) {
		t.Errorf("table %d: names %q, want %q\n%+v\n%.600q", seed, names, w.names, w.settings, w.text)
	}
	compareRows(t, fmt.Sprintf("table %d: %+v\n%.600q", seed, w.settings, w.text), rows, whole(w.rows))
	return asked
}

func compareRows(t *testing.T, what string, got, want [][]any) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%d rows, want %d; %s", len(got), len(want), what)
		return
	}
	for i := range want {
		if !slices.Equal(got[i], want[i]) {
			t.Errorf("row %d: %q, want %q; %s", i, got[i], want[i], what)
			return
		}
	}
}

// worldTables is the number of tables that the tests read. Of up to mostAsked of them gpfit may ask
// whether the first row is a header: their columns are called by years.
const worldTables, mostAsked = 500, 25

// TestWorld reads tables in the forms in which programs write them: encodings, separators, decimal
// signs, quotes, comments, headers, line ends, blank lines and gaps. Each must be what was written.
func TestWorld(t *testing.T) {
	asked := 0
	for seed := range uint64(worldTables) {
		if readWorld(t, seed, newWorldTable(seed)) {
			asked++
		}
	}
	t.Logf("%d tables read as they were written, of which %d ask whether the first row is a header", worldTables, asked)
	if asked > mostAsked {
		t.Errorf("%d of %d tables ask for the header", asked, worldTables)
	}
}

// TestWorldPandas reads the same tables by pandas, and tells it all that gpfit finds out. Both must read
// the same. The test needs GPFIT_PYTHON, or a python3 with pandas.
func TestWorldPandas(t *testing.T) {
	python := cmp.Or(os.Getenv("GPFIT_PYTHON"), "python3")
	if text, err := exec.Command(python, "-c", "import pandas").CombinedOutput(); err != nil {
		if os.Getenv("GPFIT_PANDAS_REQUIRED") != "" {
			t.Fatalf("%s: %v\n%s", python, err, text)
		}
		t.Skipf("SKIPPED: without pandas in python3 or GPFIT_PYTHON, tables are not compared with it: %v", err)
	}
	dir := t.TempDir()
	var tables []*worldTable
	var settings []worldSettings
	for seed := range uint64(worldTables) {
		w := newWorldTable(seed)
		w.settings.File = filepath.Join(dir, fmt.Sprint(seed))
		testcheck.Do(t, os.WriteFile(w.settings.File, w.text, 0o600))
		tables, settings = append(tables, w), append(settings, w.settings)
	}
	list := filepath.Join(dir, "list.json")
	testcheck.Do(t, os.WriteFile(list, testcheck.Get(json.Marshal(settings))(t), 0o600))
	command := exec.Command(python, "testdata/read_world.py", list)
	command.Stderr = os.Stderr
	var read []struct {
		Names []string `json:"names"`
		Rows  [][]any  `json:"rows"`
	}
	testcheck.Do(t, json.Unmarshal(testcheck.Get(command.Output())(t), &read))
	equal, asked := 0, 0
	for seed, w := range tables {
		names, rows, err := w.read(HeaderAuto)
		switch {
		case err != nil:
			asked++
			continue
		case !slices.Equal(names, read[seed].Names):
			t.Errorf("table %d: names %q, pandas has %q", seed, names, read[seed].Names)
			continue
		}
		compareRows(t, fmt.Sprintf("table %d, pandas: %+v\n%.600q", seed, w.settings, w.text), rows, whole(read[seed].Rows))
		equal++
	}
	t.Logf("%d tables compared with pandas, %d errors", equal, asked)
	if asked > mostAsked {
		t.Errorf("%d errors", asked)
	}
}

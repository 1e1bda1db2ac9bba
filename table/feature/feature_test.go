package feature

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"gpfit/internal/fuzzguard"
	"gpfit/internal/testcheck"
)

func TestParseDate(t *testing.T) {
	at := func(y, m, d, h, min, s, ns int) time.Time {
		return time.Date(y, time.Month(m), d, h, min, s, ns, time.UTC)
	}
	for text, want := range map[string]time.Time{
		"2024-01-31":                     at(2024, 1, 31, 0, 0, 0, 0),
		"2024-01":                        at(2024, 1, 1, 0, 0, 0, 0),
		"2024/01/31":                     at(2024, 1, 31, 0, 0, 0, 0),
		"31.01.2024":                     at(2024, 1, 31, 0, 0, 0, 0),
		"3.1.2024 4:05":                  at(2024, 1, 3, 4, 5, 0, 0),
		"20240131":                       at(2024, 1, 31, 0, 0, 0, 0),
		"20240131T143005Z":               at(2024, 1, 31, 14, 30, 5, 0),
		"2024-01-31T14:30":               at(2024, 1, 31, 14, 30, 0, 0),
		"2024-01-31 14:30:05.25":         at(2024, 1, 31, 14, 30, 5, 250e6),
		"2024-01-31T14:30:05Z":           at(2024, 1, 31, 14, 30, 5, 0),
		"2024-01-31T14:30:05+02:00":      at(2024, 1, 31, 12, 30, 5, 0),
		"2024-01-31 14:30:05.5-0130":     at(2024, 1, 31, 16, 0, 5, 500e6),
		"2024-01-31 14:30:05+00":         at(2024, 1, 31, 14, 30, 5, 0),
		"0001-01-01":                     at(1, 1, 1, 0, 0, 0, 0),
		"23-May-2024":                    at(2024, 5, 23, 0, 0, 0, 0),
		"3 May 2024 14:30":               at(2024, 5, 3, 14, 30, 0, 0),
		"3. May 2024":                    at(2024, 5, 3, 0, 0, 0, 0),
		"May 23, 2024":                   at(2024, 5, 23, 0, 0, 0, 0),
		"Thursday, 23 May 2024":          at(2024, 5, 23, 0, 0, 0, 0),
		"Mon Mar 18 04:30:58 2024":       at(2024, 3, 18, 4, 30, 58, 0),
		"18/Mar/2024:04:30:58":           at(2024, 3, 18, 4, 30, 58, 0),
		"23-May-98":                      at(1998, 5, 23, 0, 0, 0, 0),
		"2024.05.23":                     at(2024, 5, 23, 0, 0, 0, 0),
		"2024-03-18 04:30:58 UTC":        at(2024, 3, 18, 4, 30, 58, 0),
		"2024-03-18 12:30 am":            at(2024, 3, 18, 0, 30, 0, 0),
		"2024-03-18 12:30:05PM":          at(2024, 3, 18, 12, 30, 5, 0),
		"2024-03-18 13:30 PM":            {},
		"23.05.24":                       {},
		"32 May 2024":                    {},
		"12 Red 2024":                    {},
		"May 2024":                       {},
		"2023-02-29":                     {},
		"01/02/2024":                     {},
		"2024":                           {},
		"2024-01-31T14:30:05 o'clock":    {},
		"":                               {},
		strings.Repeat("2024-01-31", 20): {},
	} {
		got, err := ParseDate(text)
		if (err != nil) != want.IsZero() && text != "0001-01-01" || err == nil && !got.Equal(want) {
			t.Errorf("%q is %v, %v; want %v", text, got, err, want)
		}
	}
	_, err := ParseDate("01/02/2024")
	testcheck.Fail[error](t, err, "is the day or the month first")
}

// TestUnits compares times since an origin with sums by hand, before the origin, too.
func TestUnits(t *testing.T) {
	for _, c := range []struct {
		unit         Unit
		origin, date string
		want         float64
	}{
		{Days, "1970-01-01", "1972-03-01", 365 + 365 + 31 + 29},
		{Days, "1970-01-01", "1969-12-31", -1},
		{Days, "2000-01-01", "2000-01-02T12:00", 1.5},
		{Hours, "2024-03-31T01:00:00+01:00", "2024-03-31T02:00:00+02:00", 0},
		{Weeks, "2024-01-01", "2024-01-15", 2},
		{Minutes, "2024-01-01", "2024-01-01 00:00:30", 0.5},
		{Seconds, "2024-01-01T00:00:00.75", "2024-01-01T00:00:01.5", 0.75},
		{Years, "1970-01-01", "2370-01-01", 400},
		{Days, "1970-01-01", "9999-12-31", 2932896},
	} {
		as := Coding{Name: "t", Kind: Date, Unit: c.unit, Origin: c.origin}
		encoder := testcheck.Get(as.Encoder())(t)
		if got, err := encoder.Value(c.date); got != c.want || err != nil {
			t.Errorf("%s since %s in %s: %v, %v; want %v", c.date, c.origin, c.unit, got, err, c.want)
		}
	}
	clock := Coding{Name: "t", Kind: Clock, Unit: Hours}
	encoder := testcheck.Get(clock.Encoder())(t)
	if v, err := encoder.Value("14:45"); v != 14.75 || err != nil {
		t.Errorf("14:45 is %v hours, %v", v, err)
	}
	_, err := encoder.Value("25:00")
	testcheck.Fail[error](t, err)
}

var mixed = Encoding{Columns: []Coding{
	{Name: "n", Kind: Number}, {Name: "b", Kind: Boolean},
	{Name: "c", Kind: Category, Categories: []string{"red", "blue"}},
	{Name: "k", Kind: Category, Categories: []string{"low", "high"}, Codes: true},
	{Name: "d", Kind: Date, Unit: Days, Origin: "2000-01-01"},
}}

func TestRow(t *testing.T) {
	if got := mixed.Features(); !slices.Equal(got, []string{"n", "b", "c_red", "c_blue", "k", "d"}) {
		t.Errorf("features %q", got)
	}
	got, err := mixed.Row([]string{"1.5", "Yes", "blue", "high", "2000-01-03"})
	if err != nil || !slices.Equal(got, []float64{1.5, 1, 0, 1, 1, 2}) {
		t.Errorf("row %v, %v", got, err)
	}
	comma := mixed
	comma.Decimal = ","
	if got, err := comma.Row([]string{"1,5", "0", "red", "low", "2000-01-01"}); err != nil || !slices.Equal(got, []float64{1.5, 0, 1, 0, 0, 0}) {
		t.Errorf("row %v, %v", got, err)
	}
	for want, cells := range map[string][]string{
		`column "n": not a number: "1,5"`:                                                              {"1,5", "no", "red", "low", "2000-01-03"},
		`column "b": not true, false, yes or no: "maybe"`:                                              {"1", "maybe", "red", "low", "2000-01-03"},
		`column "c": the training table has no category "rad" (did you mean "red"?); it has red, blue`: {"1", "no", "rad", "low", "2000-01-03"},
		`4 cells for 5 columns`:                                                                        {"1", "no", "red", "low"},
	} {
		if _, err := mixed.Row(cells); err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
	_, err = mixed.Row([]string{"1", "no", "green", "low", "2000-01-03"})
	if unseen := testcheck.Fail[*UnseenError](t, err); unseen != nil && unseen.Label != "green" {
		t.Errorf("%#v", err)
	}
}

func TestCheck(t *testing.T) {
	for want, e := range map[string]Encoding{
		"no categories":    {Columns: []Coding{{Name: "a", Kind: Category}}},
		"twice":            {Columns: []Coding{{Name: "a", Kind: Category, Categories: []string{"x", "x"}}}},
		"unknown kind":     {Columns: []Coding{{Name: "a", Kind: "colour"}}},
		"the unit":         {Columns: []Coding{{Name: "a", Kind: Clock}}},
		"not a date":       {Columns: []Coding{{Name: "a", Kind: Date, Unit: Days}}},
		"decimal sign":     {Text: Text{Decimal: ";"}, Columns: []Coding{{Name: "a", Kind: Number}}},
		"makes 1 features": {Columns: []Coding{{Name: "b", Kind: Number}}},
	} {
		testcheck.Fail[error](t, e.Check([]string{"a"}), want)
	}
	testcheck.Do(t, mixed.Check(mixed.Features()))
}

// TestSort checks that numbers sort by value, before words.
func TestSort(t *testing.T) {
	labels := []string{"b", "10", "9", "a", "-1"}
	Sort(labels)
	if !slices.Equal(labels, []string{"-1", "9", "10", "a", "b"}) {
		t.Errorf("%q", labels)
	}
}

// TestDates checks that the number of a date in seconds since 1970 is the date's own time,
// in every form that can express it.
func TestDates(t *testing.T) {
	as := Coding{Name: "t", Kind: Date, Unit: Seconds, Origin: DefaultOrigin}
	encoder := testcheck.Get(as.Encoder())(t)
	rapid.Check(t, func(t *rapid.T) {
		seconds := rapid.Int64Range(-60e9, 200e9).Draw(t, "seconds")
		zone := rapid.IntRange(-14*60, 14*60).Draw(t, "minutes east")
		at := time.Unix(seconds, 0).In(time.FixedZone("", 60*zone))
		form := rapid.SampledFrom([]string{time.RFC3339, "2006-01-02 15:04:05Z0700", "2006/01/02 15:04:05 -07:00", "02.01.2006 15:04:05-07:00"}).Draw(t, "form")
		form = strings.ReplaceAll(form, "Z0700", "-0700")
		text := at.Format(form)
		if v, err := encoder.Value(text); err != nil || v != float64(seconds) {
			t.Fatalf("%q is %v, %v; want %d", text, v, err, seconds)
		}
	})
}

// FuzzRecognize checks that a text of the recognized kind has a finite number.
func FuzzRecognize(f *testing.F) {
	for _, text := range []string{"2024-01-31", "31.01.2024 14:30", "14:30:05.5", "yes", "False", "red", "9999-12-31T23:59:59.999999999-14:00", "01/02/03"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		fuzzguard.Run(t, func() {
			as := Coding{Name: "a", Kind: Recognize(text), Unit: Years, Origin: DefaultOrigin, Categories: []string{text}}
			encoder := testcheck.Get(as.Encoder())(t)
			if v, err := encoder.Value(text); err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
				t.Fatalf("%q, a %s, is %v, %v", text, as.Kind, v, err)
			}
		})
	})
}

// TestCodingDates checks that Dates inverts Value for dates of every unit, and that other
// columns have no dates.
func TestCodingDates(t *testing.T) {
	const date = "1912-02-13T13:16:05Z"
	want := testcheck.Get(ParseDate(date))(t)
	for _, unit := range Units() {
		c := &Coding{Name: "d", Kind: Date, Unit: unit, Origin: "1900-01-01"}
		v := testcheck.Get(testcheck.Get(c.Encoder())(t).Value(date))(t)
		if got := testcheck.Get(c.Dates())(t)(v); !got.Equal(want) {
			t.Errorf("%s: the date of %v is %v, want %v", unit, v, got, want)
		}
	}
	if dates := testcheck.Get((&Coding{Name: "n", Kind: Number}).Dates())(t); dates != nil {
		t.Error("a column of numbers has dates")
	}
}

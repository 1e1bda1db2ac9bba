package table

import (
	"archive/zip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gpfit/internal/testcheck"
)

// TestPoints: numbers such as 2.491 and 531 in one column may have a point between thousands. Decimals and eighths have not.
func TestPoints(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.csv")
	for text, warned := range map[string]bool{
		"2.491 531 1.300 12.004": true, "-2.491 -5 1.300 12.004": true, "2.491 1.300 12.004": false, "2.491 531 1.300 12.04": false, "0.491 531 1.300 12.004 2.111": false,
		"1.125 2 3.375": false, "2.491 1531 1.300 12.004": false, "2.491 5e2 1.300 12.004": false,
	} {
		testcheck.Do(t, os.WriteFile(path, []byte("a,y\n1,"+strings.ReplaceAll(text, " ", "\n1,")+"\n"), 0o600))
		table := testcheck.Get(Read(path, Options{}))(t)
		if got := strings.Contains(strings.Join(table.Warnings, " "), `column "y" has numbers such as`); got != warned {
			t.Errorf("%s: %q", text, table.Warnings)
		}
		as := Options{}
		as.Text.Thousands, as.Text.Decimal = ".", ","
		if table, err := Read(path, as); err == nil && len(table.Warnings) > 0 {
			t.Errorf("%s with thousands: %q", text, table.Warnings)
		}
	}
}

// TestMacArchive reads an archive of one table with a folder and what macOS adds.
func TestMacArchive(t *testing.T) {
	f := testcheck.Get(os.Create(filepath.Join(t.TempDir(), "t.zip")))(t)
	z := zip.NewWriter(f)
	for _, name := range []string{"t/", "t/t.csv", "__MACOSX/t/._t.csv", "t/.DS_Store"} {
		w := testcheck.Get(z.Create(name))(t)
		if name == "t/t.csv" {
			testcheck.Get(w.Write([]byte("a,y\n1,2\n3,4\n")))(t)
		}
	}
	testcheck.Do(t, z.Close(), f.Close())
	if table := testcheck.Get(Read(f.Name(), Options{}))(t); table.N != 2 {
		t.Errorf("%d rows", table.N)
	}
}

// TestAdviceOfTexts: options for numbers of text count for no JSON, whose errors must not name them.
func TestAdviceOfTexts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.jsonl")
	for _, number := range []string{"1,5", "1.234,5", "5%"} {
		testcheck.Do(t, os.WriteFile(path, []byte(`{"a": 1, "y": "`+number+`"}`+"\n"), 0o600))
		if _, err := Read(path, Options{}); err == nil || strings.Contains(err.Error(), "option") || !strings.Contains(err.Error(), "not a number") {
			t.Errorf("%s: %v", number, err)
		}
	}
}

// TestZeros reads a file of more zeros than a record may have. The first of them ends it.
func TestZeros(t *testing.T) {
	f := testcheck.Get(os.Create(filepath.Join(t.TempDir(), "t.csv")))(t)
	testcheck.Do(t, f.Truncate(maxRecord+1), f.Close())
	if _, err := Read(f.Name(), Options{}); err == nil || !strings.Contains(err.Error(), "zero byte") {
		t.Error(err)
	}
}

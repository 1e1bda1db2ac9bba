package supply

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
)

const root = "../.."

var all = sync.OnceValues(func() ([]Dependency, error) { return Modules(root) })

func modules(t *testing.T) []Dependency {
	t.Helper()
	m, err := all()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestLicences: every module has a licence that goes with ours, and
// THIRD_PARTY_LICENSES has them all.
func TestLicences(t *testing.T) {
	if err := Check(modules(t)); err != nil {
		t.Error(err)
	}
	kept, err := os.ReadFile(filepath.Join(root, "THIRD_PARTY_LICENSES"))
	if err != nil {
		t.Fatal(err)
	}
	var now bytes.Buffer
	if err := WriteLicences(&now, modules(t)); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(kept, now.Bytes()) {
		t.Error("THIRD_PARTY_LICENSES is not what the modules have: go run ./internal/supply/report licences > THIRD_PARTY_LICENSES")
	}
}

// TestCheck: what has no licence, or one that asks for more than ours, is refused.
func TestCheck(t *testing.T) {
	for _, c := range []struct {
		text, license string
		testOnly, ok  bool
	}{
		{"", "", false, false},
		{"All rights reserved.", "", false, false},
		{"GNU GENERAL PUBLIC LICENSE\n Version 3", "GPL", false, false},
		{"GNU AFFERO GENERAL PUBLIC\nLICENSE", "AGPL-3.0", true, false},
		{"Mozilla Public License Version 2.0", "MPL-2.0", false, false},
		{"Mozilla Public License Version 2.0", "MPL-2.0", true, true},
		{"Permission is hereby granted, free of charge, to any\nperson obtaining a copy", "MIT", false, true},
	} {
		id := Identify(c.text)
		if err := Check([]Dependency{{Path: "m", License: id, TestOnly: c.testOnly}}); id != c.license || (err == nil) != c.ok {
			t.Errorf("%q: licence %q, %v", c.text, id, err)
		}
	}
}

// TestBOM: the bill of a program has what CycloneDX 1.5 requires, every module of
// the program with version, sum and licence, and is the same when made again.
func TestBOM(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program")
	}
	program := filepath.Join(t.TempDir(), "gpfit")
	cmd := exec.Command("go", "build", "-o", program, "./cmd/gpfit")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var b, again bytes.Buffer
	for _, w := range []*bytes.Buffer{&b, &again} {
		if err := BOM(w, program, modules(t)); err != nil {
			t.Fatal(err)
		}
	}
	if b.String() != again.String() {
		t.Error("two bills of one program differ")
	}
	var got bom
	d := json.NewDecoder(&b)
	d.DisallowUnknownFields()
	if err := d.Decode(&got); err != nil {
		t.Fatal(err)
	}
	if got.Format != "CycloneDX" || got.SpecVersion != "1.5" || got.Version != 1 || got.Metadata.Component.Name != "gpfit" || len(got.Metadata.Component.Hashes[0].Content) != 64 {
		t.Errorf("head %+v", got.Metadata)
	}
	refs := map[string]bool{}
	for _, c := range got.Components {
		// "type" and "name" are required; a purl has a type, a name and a version.
		if c.Type != "library" || c.Name == "" || c.Version == "" || len(c.Licenses) != 1 || len(c.Properties) != 1 || refs[c.Ref] || !purlForm.MatchString(c.PURL) {
			t.Errorf("component %+v", c)
		}
		refs[c.Ref] = true
	}
	if len(refs) < 30 || len(got.Depends) != 1 || len(got.Depends[0].On) != len(refs) {
		t.Errorf("%d components, dependencies %+v", len(refs), got.Depends)
	}
	for _, name := range []string{"gorgonia.org/gorgonia", "gonum.org/v1/gonum"} {
		if !strings.Contains(again.String(), `"name": "`+name+`"`) {
			t.Errorf("%s is not in the bill", name)
		}
	}
}

var purlForm = regexp.MustCompile(`^pkg:golang/[^@ ]+@v[^@ ]+$`)

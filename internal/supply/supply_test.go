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

	"github.com/santhosh-tekuri/jsonschema/v6"
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

// TestLicences checks that our programs may include every module's licence and that
// THIRD_PARTY_LICENSES lists them all.
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
		t.Error("THIRD_PARTY_LICENSES does not match the modules: go run ./internal/supply/report licences > THIRD_PARTY_LICENSES")
	}
}

// TestCheck checks that Check rejects a missing licence and one with more conditions
// than ours.
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

// TestBOM checks that the bill of a program has the fields that CycloneDX 1.5
// requires, lists every module of the program with version, sum and licence, and is
// the same if written twice.
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
	schema := cycloneDX(t)
	if err := schema.Validate(parsed(t, b.Bytes())); err != nil {
		t.Errorf("the bill does not match the schema of CycloneDX: %v", err)
	}
	for _, c := range wrongBills {
		text := bytes.Replace(b.Bytes(), []byte(c.old), []byte(c.new), 1)
		if bytes.Equal(text, b.Bytes()) {
			t.Errorf("%q is not in the bill", c.old)
		}
		if err := schema.Validate(parsed(t, text)); err == nil {
			t.Errorf("the schema accepts %q in place of %q", c.new, c.old)
		}
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

// wrongBills are changes to a bill that the schema must reject.
var wrongBills = []struct{ old, new string }{
	{`"bomFormat": "CycloneDX"`, `"bomFormat": "SPDX"`},
	{`"bomFormat"`, `"format"`},
	{`"version": 1,`, `"version": 0,`},
	{`"type": "application"`, `"type": "program"`},
	{`"type": "library"`, `"kind": "library"`},
	{`"alg": "SHA-256"`, `"alg": "SHA-257"`},
	{`"dependencies": [`, `"depends": [`},
}

// cycloneDX compiles the schema of CycloneDX 1.5. The folder contains all schemas
// that it refers to.
func cycloneDX(t *testing.T) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	const at = "http://cyclonedx.org/schema/"
	for _, name := range []string{"bom-1.5.schema.json", "spdx.schema.json", "jsf-0.82.schema.json"} {
		text, err := os.ReadFile(filepath.Join("testdata/cyclonedx", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.AddResource(at+name, parsed(t, text)); err != nil {
			t.Fatal(err)
		}
	}
	schema, err := c.Compile(at + "bom-1.5.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func parsed(t *testing.T, text []byte) any {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

var purlForm = regexp.MustCompile(`^pkg:golang/[^@ ]+@v[^@ ]+$`)

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gpfit/internal/testcheck"
	"gpfit/option"
)

const (
	root = "../.."
	base = root + "/batch/spec/schema.base.json"
)

// TestGenerated checks that the generated files are up to date.
func TestGenerated(t *testing.T) {
	files := testcheck.Get(render(option.All(), base))(t)
	for path, want := range files {
		got, err := os.ReadFile(filepath.Join(root, path))
		if err != nil || string(got) != string(want) {
			t.Errorf("%s is not what the table says: run go generate ./cmd/gpfit (%v)", path, err)
		}
	}
}

// TestNewOption checks that the spec's Go type, its schema and the reference page need
// only one new entry in the table.
func TestNewOption(t *testing.T) {
	table := append(slices.Clone(option.All()), option.Option{
		Name: "extra-turns", Kind: option.Whole, Group: option.Tuning, Default: "2", Most: 9, Help: "number of extra turns", Places: []string{"fit", option.Spec},
	})
	files := testcheck.Get(render(table, base))(t)
	for path, want := range map[string]string{
		"batch/spec/options.go":             "\t// ExtraTurns: number of extra turns.\n\tExtraTurns *int `yaml:\"extra_turns,omitempty\" json:\"extra_turns,omitempty\"`\n",
		"batch/spec/schema.json":            "\"extra_turns\": {\n          \"description\": \"number of extra turns\",\n          \"maximum\": 9,\n          \"minimum\": 0,\n          \"type\": \"integer\"\n        }",
		"docs/options.md":                   "## extra-turns\n\nNumber of extra turns.\n\n**fit:** 0 to 9; default: 2; `GPFIT_EXTRA_TURNS`; `extra_turns:`\n",
		"python/src/pygpfit/_options.py":    "\"extra_turns\": (\"whole number\", 2),\n",
		"python/src/pygpfit/_parameters.py": "        extra_turns: int | None = 2,\n",
	} {
		if !strings.Contains(string(files[path]), want) {
			t.Errorf("%s has not %q", path, want)
		}
	}
}

package device

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"gpfit/internal/fuzzguard"
	"gpfit/internal/testcheck"
)

// FuzzCrossoverCache checks that any file yields a positive number or none, and
// that a measurement is stored for the next time.
func FuzzCrossoverCache(f *testing.F) {
	for _, text := range []string{"", "{", "null", "[]", `{"a | b": 512}`, `{"cuda:0 | cpu": 0}`, `{"cuda:0 | cpu": -3}`, `{"cuda:0 | cpu": 1e300}`, `{"cuda:0 | cpu": 700, "x": null}`, `{"x": "y", "cuda:0 | cpu": 3}`} {
		f.Add([]byte(text))
	}
	gpu, cpu := Finding{Name: "cuda:0", Detail: "cuda:0"}, Finding{Name: "cpu", Detail: "cpu"}
	path := filepath.Join(f.TempDir(), "crossover.json")
	f.Fuzz(func(t *testing.T, text []byte) {
		fuzzguard.Run(t, func() {
			testcheck.Do(t, os.WriteFile(path, text, 0o600))
			measured := 0
			c := Crossover{Path: path, Measure: func(context.Context, Backend, Backend) (int, error) { measured++; return 4096, nil }}
			first, err := c.Of(t.Context(), gpu, cpu, nil, nil)
			if err != nil || first < 1 || measured > 1 || measured == 1 && first != 4096 {
				t.Fatalf("%q: %d after %d measurements, %v", text, first, measured, err)
			}
			second, err := c.Of(t.Context(), gpu, cpu, nil, nil)
			if err != nil || second != first || measured > 1 {
				t.Fatalf("%q: %d, then %d after %d measurements, %v", text, first, second, measured, err)
			}
			kept, _ := os.ReadFile(path)
			if measured == 1 && !json.Valid(kept) {
				t.Fatalf("%q became %q", text, kept)
			}
		})
	})
}

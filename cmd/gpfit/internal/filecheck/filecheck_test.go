package filecheck

import (
	"os"
	"path/filepath"
	"testing"

	"gpfit/internal/testcheck"
)

// TestModel checks that a model of a release is right, and that a byte that has changed is found.
func TestModel(t *testing.T) {
	models := testcheck.Get(filepath.Glob("../../testdata/releases/*/*.gpfit"))(t)
	if len(models) == 0 {
		t.Fatal("no models")
	}
	whole := testcheck.Get(Path(t.Context(), models[0], nil))(t)
	if len(whole) != 1 || whole[0].Kind != "model" || whole[0].Fault != "" || whole[0].Checked == "" {
		t.Errorf("%s: %+v", models[0], whole)
	}
	text := testcheck.Get(os.ReadFile(models[0]))(t)
	text[len(text)/2] ^= 4
	damaged := filepath.Join(t.TempDir(), "m.gpfit")
	testcheck.Do(t, os.WriteFile(damaged, text, 0o600))
	found := testcheck.Get(Path(t.Context(), damaged, nil))(t)
	if len(found) != 1 || found[0].Fault == "" || found[0].Cure == "" || found[0].Checked != "" {
		t.Errorf("a changed byte: %+v", found)
	}
}

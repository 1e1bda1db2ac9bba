package gpfit_test

import (
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestModules checks how many modules a program that uses the package links: Gorgonia, the 18 modules that
// it links, gonum among them, and what gpfit adds.
func TestModules(t *testing.T) {
	own := []string{"github.com/ebitengine/purego", "golang.org/x/sys", "golang.org/x/tools"} // x/tools through gonum/optimize
	list := func(pattern string) map[string]bool {
		out, err := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}}{{end}}{{end}}", pattern).Output()
		if err != nil {
			t.Fatal(err)
		}
		modules := map[string]bool{}
		for path := range strings.FieldsSeq(string(out)) {
			modules[path] = true
		}
		return modules
	}
	ours, gorgonia := list("."), list("gorgonia.org/gorgonia")
	maps.DeleteFunc(ours, func(path string, _ bool) bool { return gorgonia[path] })
	if got := slices.Sorted(maps.Keys(ours)); !slices.Equal(got, own) {
		t.Errorf("besides Gorgonia's modules, gpfit links %v, want %v", got, own)
	}
	if n := len(gorgonia) + len(own); n > 22 {
		t.Errorf("%d modules", n)
	}
}

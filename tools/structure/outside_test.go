package structure

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gpfit/internal/testcheck"
)

// TestOutside runs the tests of testdata/outside in a module of their own, so that they fail if
// what they use is internal. A workspace of both modules, in place of a replace line, shares the
// compiled packages with the other tests.
func TestOutside(t *testing.T) {
	watchTree(t)
	read := func(path string) string { return string(testcheck.Get(os.ReadFile(path))(t)) }
	var sine strings.Builder
	sine.WriteString("x,y\n")
	for i := range 30 {
		fmt.Fprintf(&sine, "%d,%.3f\n", i, math.Sin(float64(i)/4))
	}
	version := testcheck.Get(goList(root, "-m", "-f", "{{.GoVersion}}"))(t)[0]
	dir := testcheck.Folder(t, map[string]string{
		"go.mod":          "module outside\n\ngo " + version + "\n",
		"go.work":         fmt.Sprintf("go %s\n\nuse (\n\t.\n\t%q\n)\n", version, testcheck.Get(filepath.Abs(root))(t)),
		"library_test.go": read("testdata/outside/library_test.go"),
		"real.parquet":    read(root + "/table/testdata/formats/real_none.parquet"),
		"sine.csv":        sine.String(),
		"spec.yaml":       "data: [{name: sine, path: sine.csv}]\nkernels: [rbf, matern32]\n",
	})
	test := exec.Command("go", "test", "-mod=readonly", ".")
	test.Dir = dir
	test.Env = append(os.Environ(), "GOWORK="+filepath.Join(dir, "go.work"))
	if out, err := test.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestUsersDocs checks that the pages about the library do not send users to internal packages.
func TestUsersDocs(t *testing.T) {
	for _, page := range []string{"doc.go", "docs/library.md", "docs/data.md", "docs/kernels.md"} {
		for i, line := range strings.Split(string(testcheck.Get(os.ReadFile(filepath.Join(root, page)))(t)), "\n") {
			if strings.Contains(line, "internal/") {
				t.Errorf("%s:%d: %s", page, i+1, line)
			}
		}
	}
}

package supply

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"gpfit/internal/must"
)

// TestHostFiles checks the files that a public host of the repository reads: they are
// YAML, the scripts, make targets and folders that they name exist, and every version
// is exact.
func TestHostFiles(t *testing.T) {
	root := "../.."
	files := must.Get(filepath.Glob(filepath.Join(root, ".github", "*", "*.yml")))(t)
	files = append(files, filepath.Join(root, ".github", "dependabot.yml"))
	if len(files) < 5 {
		t.Fatalf("%d files found in .github", len(files))
	}
	makefile := read(t, filepath.Join(root, "Makefile"))
	for _, file := range files {
		text := read(t, file)
		var any map[string]any
		if err := yaml.Unmarshal([]byte(text), &any); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		for _, script := range regexp.MustCompile(`run: (\.ci/\S+)`).FindAllStringSubmatch(text, -1) {
			if _, err := os.Stat(filepath.Join(root, script[1])); err != nil {
				t.Errorf("%s: %v", file, err)
			}
		}
		for _, target := range regexp.MustCompile(`run: make (\S+)`).FindAllStringSubmatch(text, -1) {
			if !strings.Contains(makefile, "\n"+target[1]+":") {
				t.Errorf("%s: the Makefile has no target %s", file, target[1])
			}
		}
		for _, action := range regexp.MustCompile(`uses: (\S+)`).FindAllStringSubmatch(text, -1) {
			if !regexp.MustCompile(`@v\d+\.\d+\.\d+$`).MatchString(action[1]) {
				t.Errorf("%s: %s is not an exact version", file, action[1])
			}
		}
	}
	checkModulesOfUpdates(t, root)
}

// checkModulesOfUpdates compares the folders in dependabot.yml with the folders that
// have a go.mod.
func checkModulesOfUpdates(t *testing.T, root string) {
	t.Helper()
	var updates struct {
		Updates []struct {
			Ecosystem   string `yaml:"package-ecosystem"`
			Directories []string
		}
	}
	must.Do(t, yaml.Unmarshal([]byte(read(t, filepath.Join(root, ".github", "dependabot.yml"))), &updates))
	var have []string
	err := filepath.WalkDir(root, func(path string, _ os.DirEntry, err error) error {
		if err == nil && filepath.Base(path) == "go.mod" && !strings.Contains(path, "testdata") {
			folder, _ := filepath.Rel(root, filepath.Dir(path))
			have = append(have, "/"+strings.TrimPrefix(filepath.ToSlash(folder), "."))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range updates.Updates {
		if u.Ecosystem != "gomod" {
			continue
		}
		slices.Sort(u.Directories)
		slices.Sort(have)
		if !slices.Equal(u.Directories, have) {
			t.Errorf("dependabot.yml updates %v; go.mod is in %v", u.Directories, have)
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text := must.Get(os.ReadFile(path))(t)
	return string(text)
}

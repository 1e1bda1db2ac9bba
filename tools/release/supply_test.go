package release

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"gpfit/internal/testcheck"
)

// TestBill checks the bill of materials in the file GPFIT_BILL against the schema of CycloneDX
// 1.5, and that the schema refuses wrong bills.
func TestBill(t *testing.T) {
	file := os.Getenv("GPFIT_BILL")
	if file == "" {
		t.Skip("GPFIT_BILL names no bill of materials; .ci/release and make reliability-supply set it")
	}
	bill := []byte(read(t, file))
	schema := cycloneDX(t)
	if err := schema.Validate(parsed(t, bill)); err != nil {
		t.Errorf("the bill does not match the schema of CycloneDX: %v", err)
	}
	for _, c := range wrongBills {
		text := bytes.Replace(bill, []byte(c.old), []byte(c.new), 1)
		if bytes.Equal(text, bill) {
			t.Errorf("%q is not in the bill", c.old)
		}
		if err := schema.Validate(parsed(t, text)); err == nil {
			t.Errorf("the schema accepts %q in place of %q", c.new, c.old)
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
		text := testcheck.Get(os.ReadFile(filepath.Join("testdata/cyclonedx", name)))(t)
		testcheck.Do(t, c.AddResource(at+name, parsed(t, text)))
	}
	return testcheck.Get(c.Compile(at + "bom-1.5.schema.json"))(t)
}

func parsed(t *testing.T, text []byte) any {
	t.Helper()
	return testcheck.Get(jsonschema.UnmarshalJSON(bytes.NewReader(text)))(t)
}

// TestReleaseVersion checks the versions of commits with and without tags.
func TestReleaseVersion(t *testing.T) {
	script := testcheck.Get(filepath.Abs("../../.ci/release-version"))(t)
	dir := t.TempDir()
	call := func(name string, args ...string) (string, error) {
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		text, err := cmd.CombinedOutput()
		return strings.TrimSpace(string(text)), err
	}
	git := func(args ...string) string {
		t.Helper()
		text, err := call("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@b"}, args...)...)
		if err != nil {
			t.Fatalf("git %v: %v: %s", args, err, text)
		}
		return text
	}
	git("init", "--quiet")
	for _, c := range []struct{ source, tags, want string }{
		{`const version = "0.2.0"`, "", "0.2.0-dev.COMMIT"},
		{`const version = "0.2.0"`, "v0.2.0", "0.2.0"},
		{`const version = "0.2.0"`, "v0.2.0-rc.1 other", "0.2.0-rc.1"},
		{`const version = "0.2.0"`, "v0.3.0", "release: the tag is v0.3.0, but cmd/gpfit/cmd_version.go has the version 0.2.0: correct one of the two"},
		{`const version = "0.2.0"`, "v0.2.01", "release: the tag is v0.2.01, but cmd/gpfit/cmd_version.go has the version 0.2.0: correct one of the two"},
		{`const version = "0.2.0"`, "v0.2.0 v0.2.0-rc.1", "release: the commit has several tags: v0.2.0 v0.2.0-rc.1"},
		{``, "", "release: cmd/gpfit/cmd_version.go has no version"},
	} {
		file := filepath.Join(dir, "cmd/gpfit/cmd_version.go")
		testcheck.Do(t, os.MkdirAll(filepath.Dir(file), 0o777))
		testcheck.Do(t, os.WriteFile(file, []byte("package main\n\n"+c.source+"\n"), 0o666))
		git("add", ".")
		git("commit", "--quiet", "--allow-empty", "--message", "a")
		for _, tag := range strings.Fields(c.tags) {
			git("tag", "--force", tag)
		}
		got, err := call(script)
		want := strings.Replace(c.want, "COMMIT", git("rev-parse", "--short=12", "HEAD"), 1)
		if got != want || (err != nil) != strings.HasPrefix(want, "release: ") {
			t.Errorf("%s, tags %s: %q, %v; want %q", c.source, c.tags, got, err, want)
		}
	}
}

// TestHostFiles checks the files that a public host of the repository reads: they are YAML, the
// scripts, make targets and folders that they name exist, and every version is exact.
func TestHostFiles(t *testing.T) {
	root := "../.."
	files := testcheck.Get(filepath.Glob(filepath.Join(root, ".github", "*", "*.yml")))(t)
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
		for _, action := range regexp.MustCompile(`uses: (.+)`).FindAllStringSubmatch(text, -1) {
			if !regexp.MustCompile(`@[0-9a-f]{40} # v\d+\.\d+\.\d+$`).MatchString(action[1]) {
				t.Errorf("%s: %s is not a commit with its version", file, action[1])
			}
		}
	}
	checkModulesOfUpdates(t, root)
}

// checkModulesOfUpdates compares the folders in dependabot.yml with the folders that have a go.mod.
func checkModulesOfUpdates(t *testing.T, root string) {
	t.Helper()
	var updates struct {
		Updates []struct {
			Ecosystem   string `yaml:"package-ecosystem"`
			Directories []string
		}
	}
	testcheck.Do(t, yaml.Unmarshal([]byte(read(t, filepath.Join(root, ".github", "dependabot.yml"))), &updates))
	var have []string
	testcheck.Do(t, filepath.WalkDir(root, func(path string, _ os.DirEntry, err error) error {
		if err == nil && filepath.Base(path) == "go.mod" && !strings.Contains(path, "testdata") {
			folder, _ := filepath.Rel(root, filepath.Dir(path))
			have = append(have, "/"+strings.TrimPrefix(filepath.ToSlash(folder), "."))
		}
		return err
	}))
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
	text := testcheck.Get(os.ReadFile(path))(t)
	return string(text)
}

// TestCitation checks that CITATION.cff has what version 1.2.0 of the format requires, and the version and the licence
// of the program. .ci/full validates it with cffconvert.
func TestCitation(t *testing.T) {
	var c struct {
		Format  string `yaml:"cff-version"`
		Message string
		Title   string
		Type    string
		Version string
		License string
		Authors []struct{ Name string }
	}
	testcheck.Do(t, yaml.UnmarshalWithOptions([]byte(read(t, "../../CITATION.cff")), &c))
	version := regexp.MustCompile(`version = "([^"]+)"`).FindStringSubmatch(read(t, "../../cmd/gpfit/cmd_version.go"))[1]
	if c.Format != "1.2.0" || c.Message == "" || c.Title == "" || c.Type != "software" || len(c.Authors) == 0 || c.Authors[0].Name == "" {
		t.Errorf("CITATION.cff: %+v", c)
	}
	if c.Version != version || c.License != "Apache-2.0" {
		t.Errorf("CITATION.cff has version %s and licence %s; the program has version %s", c.Version, c.License, version)
	}
}

// TestPublishing checks that what leaves the repository does so only where a variable says so, and that PyPI is
// reached without a stored token.
func TestPublishing(t *testing.T) {
	var w struct {
		Jobs map[string]struct {
			If          string
			Needs       any
			Permissions map[string]string
			Steps       []struct{ If, Uses, Run string }
		}
	}
	testcheck.Do(t, yaml.Unmarshal([]byte(read(t, "../../.github/workflows/release.yml")), &w))
	for job, variable := range map[string]string{"pypi": "PUBLISH_PYPI", "site": "PUBLISH_SITE"} {
		if w.Jobs[job].If != "vars."+variable+" == 'true'" || w.Jobs[job].Permissions["id-token"] != "write" {
			t.Errorf("the job %s runs if %q with the permissions %v", job, w.Jobs[job].If, w.Jobs[job].Permissions)
		}
	}
	for _, step := range w.Jobs["images"].Steps {
		if strings.Contains(step.Run, "push") && step.If != "vars.PUBLISH_IMAGES == 'true'" {
			t.Errorf("images are pushed if %q", step.If)
		}
	}
	publish := w.Jobs["pypi"].Steps
	if last := publish[len(publish)-1]; !strings.HasPrefix(last.Uses, "pypa/gh-action-pypi-publish@") {
		t.Errorf("the last step of pypi is %+v", last)
	}
}

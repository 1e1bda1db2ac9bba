//go:build unix

package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gpfit/internal/testcheck"
)

// everything holds command lines that together write every kind of file. They need a
// folder with data.csv, new.csv and study.yaml.
var everything = []string{
	"fit data.csv --kernel rbf --max-evals 10 --device cpu --out m.gpfit --json",
	"predict m.gpfit new.csv --device cpu --out p.csv --plot p.svg",
	"sample m.gpfit new.csv --device cpu --draws 2 --cov c.npz --out s.csv",
	"export m.gpfit --out m.json",
	"batch study.yaml --out r.run --cores 1 --quiet",
	"report r.run --out page.html",
}

// runEverything runs the lines after the shell text before, such as "umask 077; exec",
// and returns the folder.
func runEverything(t *testing.T, before string) string {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, "data.csv", string(testcheck.Get(os.ReadFile("../../examples/co2.csv"))(t)))
	write(t, dir, "new.csv", string(testcheck.Get(os.ReadFile("../../examples/co2_new.csv"))(t)))
	write(t, dir, "study.yaml", "defaults: {device: cpu, threads: 1, subsample: 40}\ndata: [data.csv]\nkernels: [rbf, matern32]\n")
	for _, line := range everything {
		cmd := exec.Command("sh", "-c", before+" gpfit "+line)
		cmd.Dir = dir
		if code, _, stderr := end(t, cmd); code != 0 {
			t.Fatalf("%s: exit code %d\n%s", line, code, stderr)
		}
	}
	return dir
}

// TestFiles checks that fits, predictions and batches run without any network, even without the
// loopback interface, and that no file or folder that they write has more permissions than the
// umask allows.
func TestFiles(t *testing.T) {
	if testing.Short() {
		t.Skip("runs every command")
	}
	t.Parallel()
	offline := "unshare -rn"
	if out, err := exec.Command("unshare", "-rn", "true").CombinedOutput(); err != nil {
		t.Logf("SKIPPED: no network namespace can be made here: %v %s", err, out)
		offline = ""
	}
	for _, c := range []struct {
		before string
		forbid os.FileMode
	}{{"umask 077; exec " + offline, 0o077}, {"umask 027; exec", 0o027}} {
		dir, files := runEverything(t, c.before), 0
		err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			given := map[string]bool{"data.csv": true, "new.csv": true, "study.yaml": true}
			if err != nil || path == dir || given[d.Name()] {
				return err
			}
			info, err := d.Info()
			if err == nil && info.Mode().Perm()&c.forbid != 0 {
				t.Errorf("%s: %s has %v", c.before, strings.TrimPrefix(path, dir), info.Mode())
			}
			files++
			return err
		})
		if err != nil || files < 12 {
			t.Errorf("%d files, %v", files, err)
		}
	}
}

// TestNamesInPages checks that column and file names that are HTML appear as text in plots
// and pages: they make no element and no attribute.
func TestNamesInPages(t *testing.T) {
	dir := t.TempDir()
	name := `<script>alert(1)<b onload='x'>"&amp;`
	quoted := `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
	var table strings.Builder
	table.WriteString(`"<img src=x onerror=alert(2)>",` + quoted + "\n")
	for _, row := range []string{"0,1", "1,3", "2,2", "3,5", "4,4", "5,7"} {
		table.WriteString(row + "\n")
	}
	data := write(t, dir, name+".csv", table.String())
	spec := write(t, dir, "study.yaml", "name: |-\n  "+name+"\ndefaults: {device: cpu}\ndata:\n- path: |-\n    "+name+".csv\n  name: n\nkernels: [rbf]\n")
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, args := range [][]string{
		{"fit", data, "--device", "cpu", "--out", at("m.gpfit")},
		{"predict", at("m.gpfit"), data, "--device", "cpu", "--out", at("p.csv"), "--plot", at("p.svg")},
		{"batch", spec, "--out", at("r.run")}, {"report", at("r.run"), "--out", at("page.html")},
	} {
		mustLine(t, args...)
	}
	for _, file := range []string{"p.svg", "page.html"} {
		text := testcheck.Get(os.ReadFile(at(file)))(t)
		if !strings.Contains(string(text), "alert(1)") {
			t.Errorf("%s does not show the name", file)
		}
		checkMarkup(t, file, string(text))
	}
}

// checkMarkup fails for elements that run or fetch something or come from a name, and for
// attributes that are scripts.
func checkMarkup(t *testing.T, file, text string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(text))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		start, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		switch start.Name.Local {
		case "img", "b", "iframe", "link":
			t.Errorf("%s has the element <%s>", file, start.Name.Local)
		case "script": // the page's own; a name's would begin with its call
			next, err := d.RawToken()
			if text, ok := next.(xml.CharData); err == nil && ok && strings.HasPrefix(strings.TrimSpace(string(text)), "alert") {
				t.Errorf("%s has a script of a name", file)
			}
		}
		for _, a := range start.Attr {
			if strings.HasPrefix(strings.ToLower(a.Name.Local), "on") {
				t.Errorf("%s: <%s> has the attribute %s", file, start.Name.Local, a.Name.Local)
			}
		}
	}
}

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

	"gpfit/internal/must"
)

// everything holds command lines that together write every kind of file. They need a
// folder with data.csv, new.csv and study.yaml.
var everything = []string{
	"fit data.csv --device cpu --out m.gpfit --json",
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
	gpfit, dir := program(t), t.TempDir()
	copyExample(t, "co2.csv", filepath.Join(dir, "data.csv"))
	copyExample(t, "co2_new.csv", filepath.Join(dir, "new.csv"))
	study := "defaults: {device: cpu, threads: 1, subsample: 40}\ndata: [data.csv]\nkernels: [rbf, matern32]\n"
	must.Do(t, os.WriteFile(filepath.Join(dir, "study.yaml"), []byte(study), 0o666))
	for _, line := range everything {
		cmd := exec.Command("sh", "-c", before+` "$0" "$@"`, gpfit)
		cmd.Args, cmd.Dir = append(cmd.Args, strings.Fields(line)...), dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", line, err, out)
		}
	}
	return dir
}

func copyExample(t *testing.T, name, to string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../examples", name))
	if err == nil {
		err = os.WriteFile(to, text, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestOffline checks that fits, predictions and batches run without any network, even
// without the loopback interface.
func TestOffline(t *testing.T) {
	if testing.Short() {
		t.Skip("runs every command")
	}
	if out, err := exec.Command("unshare", "-rn", "true").CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: no network namespace can be made here: %v %s", err, out)
	}
	runEverything(t, "exec unshare -rn")
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
	data := filepath.Join(dir, name+".csv")
	spec := filepath.Join(dir, "study.yaml")
	err := errors.Join(os.WriteFile(data, []byte(table.String()), 0o600),
		os.WriteFile(spec, []byte("name: |-\n  "+name+"\ndefaults: {device: cpu}\ndata:\n- path: |-\n    "+name+".csv\n  name: n\nkernels: [rbf]\n"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, args := range [][]string{
		{"fit", data, "--device", "cpu", "--out", at("m.gpfit")},
		{"predict", at("m.gpfit"), data, "--device", "cpu", "--out", at("p.csv"), "--plot", at("p.svg")},
		{"batch", spec, "--out", at("r.run")}, {"report", at("r.run"), "--out", at("page.html")},
	} {
		mustLine(t, args...)
	}
	for _, file := range []string{"p.svg", "page.html"} {
		text := must.Get(os.ReadFile(at(file)))(t)
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
		case "script", "img", "b", "iframe", "link":
			t.Errorf("%s has the element <%s>", file, start.Name.Local)
		}
		for _, a := range start.Attr {
			if strings.HasPrefix(strings.ToLower(a.Name.Local), "on") {
				t.Errorf("%s: <%s> has the attribute %s", file, start.Name.Local, a.Name.Local)
			}
		}
	}
}

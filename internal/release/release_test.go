package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestArchive checks for both forms that reading gives back what was written, and that the
// time alone changes no byte but its own.
func TestArchive(t *testing.T) {
	entries := []entry{{name: "gpfit", text: []byte("program"), executable: true}, {name: "man/man1/gpfit.1", text: []byte("page\n")}}
	at := time.Date(2026, 11, 22, 14, 0, 0, 0, time.UTC)
	for _, name := range []string{"a.tar.gz", "a.zip"} {
		var one, two, later bytes.Buffer
		for b, when := range map[*bytes.Buffer]time.Time{&one: at, &two: at.In(time.FixedZone("", 7200)), &later: at.Add(time.Hour)} {
			if err := writeArchive(b, name, "root", when, entries); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(one.Bytes(), two.Bytes()) || bytes.Equal(one.Bytes(), later.Bytes()) {
			t.Errorf("%s: the same time in another zone changes it, or another time does not", name)
		}
		got, err := readArchive(name, "root", one.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(entries, got, cmp.AllowUnexported(entry{})); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if _, err := readArchive(name, "other", one.Bytes()); err == nil {
			t.Errorf("%s: its files are below another folder", name)
		}
		if _, err := readArchive(name, "root", one.Bytes()[:one.Len()/2]); err == nil {
			t.Errorf("half of %s reads", name)
		}
	}
}

// TestVersionOf checks the versions of commits with and without tags.
func TestVersionOf(t *testing.T) {
	const commit = "965db3562a6f0123"
	for _, c := range []struct {
		tags []string
		want string
	}{
		{nil, "0.2.0-dev.965db3562a6f"},
		{[]string{"v0.2.0"}, "0.2.0"},
		{[]string{"v0.2.0-rc.1"}, "0.2.0-rc.1"},
		{[]string{"v0.3.0"}, "the tag is v0.3.0, but cmd/gpfit/cmd_version.go has the version 0.2.0"},
		{[]string{"v0.2.01"}, "the tag is v0.2.01"},
		{[]string{"v0.2.0", "v0.2.0-rc.1"}, "several tags"},
	} {
		got, err := versionOf("0.2.0", commit, c.tags)
		if err != nil {
			got = err.Error()
		}
		if err == nil && got != c.want || !strings.Contains(got, c.want) {
			t.Errorf("%v: %s, want %s", c.tags, got, c.want)
		}
	}
}

// TestTargets checks that names choose targets and that an archive's name gives target and
// version back.
func TestTargets(t *testing.T) {
	for _, want := range targets {
		chosen, err := chooseTargets(want.name())
		if err != nil || len(chosen) != 1 || chosen[0] != want {
			t.Errorf("%s: %v, %v", want.name(), chosen, err)
		}
		p, err := newPack(want.archive("1.2.3-rc.1"))
		if err != nil || p.target != want || p.version != "1.2.3-rc.1" {
			t.Errorf("%s: %+v, %v", want.archive("1.2.3-rc.1"), p, err)
		}
	}
	if all, err := chooseTargets(""); err != nil || len(all) != len(targets) {
		t.Errorf("%v, %v", all, err)
	}
	if _, err := chooseTargets("linux/amd64,plan9/arm"); err == nil || !strings.Contains(err.Error(), `no target "plan9/arm"`) {
		t.Error(err)
	}
	if _, err := newPack("gpfit_1.2.3_plan9_arm.tar.gz"); err == nil {
		t.Error("an archive of no target has one")
	}
}

// TestCheckSums checks that changed, missing and surplus files are errors.
func TestCheckSums(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put("gpfit_1_linux_amd64.tar.gz", "one")
	if err := writeSums(dir); err != nil {
		t.Fatal(err)
	}
	if err := checkSums(dir); err != nil {
		t.Error(err)
	}
	list, err := os.ReadFile(filepath.Join(dir, sumsFile))
	if want := fmt.Sprintf("%x  gpfit_1_linux_amd64.tar.gz\n", sha256.Sum256([]byte("one"))); err != nil || string(list) != want {
		t.Errorf("%q, want %q (%v)", list, want, err)
	}
	put("gpfit_1_linux_amd64.tar.gz", "two")
	if err := checkSums(dir); err == nil || !strings.Contains(err.Error(), "does not have the checksum") {
		t.Error(err)
	}
	put("gpfit_1_linux_amd64.tar.gz", "one")
	put("gpfit_1_darwin_arm64.tar.gz", "three")
	if err := checkSums(dir); err == nil || !strings.Contains(err.Error(), "the folder has") {
		t.Error(err)
	}
	if err := clear(dir); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}

// TestCompareTrials checks that different predictions are an error, and that one program
// must have run.
func TestCompareTrials(t *testing.T) {
	a, b := target{os: "linux", arch: "amd64"}, target{os: "linux", arch: "arm64"}
	skipped := trial{target: b, skipped: "no qemu"}
	for _, c := range []struct {
		results []trial
		ok      bool
	}{
		{[]trial{{target: a, means: []float64{400, 401}}, {target: b, means: []float64{400.001, 401}}, skipped}, true},
		{[]trial{{target: a, means: []float64{400, 401}}, {target: b, means: []float64{400.1, 401}}}, false},
		{[]trial{{target: a, means: []float64{400, 401}}, {target: b, means: []float64{400}}}, false},
		{[]trial{skipped}, false},
	} {
		if err := compareTrials(c.results); (err == nil) != c.ok {
			t.Errorf("%v: %v", c.results, err)
		}
	}
	for _, text := range []string{"mean,std\n400,1\n", "mean\nNaN\n401\n", "mean\n400\n4\n"} {
		if means, err := firstColumn(text); err == nil {
			t.Errorf("%q gives %v", text, means)
		}
	}
}

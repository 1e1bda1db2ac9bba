package bindings

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"gpfit/internal/testcheck"
)

// prototype is a line of driver.h or mathlib.h.
type prototype struct {
	text, file string
	line       int
	result     string
	name       string
	params     []param
	since      int // in the form of CUDA_VERSION: 12020 is 12.2
}

// param is a parameter. Its type has stars pointers to base.
type param struct {
	constant bool
	base     string
	stars    int
	name     string
}

func (p param) String() string {
	s := p.base + " " + strings.Repeat("*", p.stars) + p.name
	if p.constant {
		s = "const " + s
	}
	return s
}

var (
	prototypeLine = regexp.MustCompile(`^(\w+) (\w+)\(([^()]*)\);(?: /\* since (\d+)\.(\d+) \*/)?$`)
	paramText     = regexp.MustCompile(`^(const )?(unsigned int|unsigned char|long long int|\w+) ?(\**)(\w+)$`)
)

// parsePrototype reads a line; ok is false for other lines.
func parsePrototype(line string) (p prototype, ok bool) {
	m := prototypeLine.FindStringSubmatch(line)
	if m == nil {
		return p, false
	}
	p = prototype{text: line, result: m[1], name: m[2]}
	major, _ := strconv.Atoi(m[4])
	minor, _ := strconv.Atoi(m[5])
	p.since = 1000*major + 10*minor
	if m[3] == "void" {
		return p, true
	}
	for text := range strings.SplitSeq(m[3], ", ") {
		f := paramText.FindStringSubmatch(text)
		if f == nil {
			return p, false
		}
		p.params = append(p.params, param{f[1] != "", f[2], len(f[3]), f[4]})
	}
	return p, true
}

// readPrototypes reads driver.h or mathlib.h.
func readPrototypes(t *testing.T, file string) []prototype {
	t.Helper()
	text := testcheck.Get(os.ReadFile(file))(t)
	var list []prototype
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		p, ok := parsePrototype(strings.TrimSuffix(line, "\n"))
		switch {
		case ok:
			p.file, p.line = file, number
			list = append(list, p)
		case !strings.HasPrefix(line, "/*") && !strings.HasPrefix(line, " *"):
			t.Fatalf("%s:%d: not a prototype: %s", file, number, line)
		}
	}
	return list
}

// mutate returns the list with a text replaced in the prototype with the given name.
func mutate(t *testing.T, list []prototype, name, old, new string) []prototype {
	t.Helper()
	out := append([]prototype(nil), list...)
	for i, p := range out {
		if p.name != name {
			continue
		}
		m, ok := parsePrototype(strings.Replace(p.text, old, new, 1))
		if !ok || m.text == p.text {
			t.Fatalf("no mutation of %s: %s for %s", name, new, old)
		}
		m.file, m.line = p.file, p.line
		out[i] = m
		return out
	}
	t.Fatalf("there is no %s", name)
	return nil
}

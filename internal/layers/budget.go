package layers

import (
	"cmp"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// BudgetPath is the file of budgets, relative to the module's folder, and BudgetCommand is
// the command that lowers them.
const (
	BudgetPath    = "internal/layers/budgets.txt"
	BudgetCommand = "go run ./internal/layers/cmd/budget"
)

// A Budget is a line of the file of budgets: the most that a sum, or each number of a
// package, may be.
type Budget struct {
	Name   string
	Most   []int
	Reason string // of the last number that someone raised
}

// Budgets holds the file of budgets.
type Budgets struct{ Sums, Packages []Budget }

const (
	budgetHead = `# The most that the module and its packages may have. Tests compare these numbers with the
# code. "` + BudgetCommand + `" lowers them to what the code has. Raise a
# number by hand, with a new reason at the end of its line: tests read the file's history.
`
	sumHead     = "# sum | most | reason\n"
	packageHead = "# package | lines | exported names | files | methods of a type | references up | reason\n"
)

// number describes a number of a package.
type number struct {
	what  string
	limit int // for a package without a reason in its line, 0 if there is none
	step  int // a budget is a multiple of it
	slack int // the most by which a budget may exceed the number, or 3 % if that is more
}

var (
	numbers = []number{
		{"lines", 5000, 50, 75},
		{"exported names", 0, 1, 2},
		{"files", 30, 1, 1},
		{"methods of a type", 25, 1, 1},
		{"references up", 0, 1, 0},
	}
	ofSum = number{step: 1}
	// ofLines is for sums of lines.
	ofLines = number{step: 250, slack: 500}
)

func sumNumber(name string) number {
	if strings.HasPrefix(name, "lines of") {
		return ofLines
	}
	return ofSum
}

// values returns the numbers of a package in the order of numbers.
func (p *Package) values() []int {
	return []int{p.Lines, p.Exported, p.Files, p.Methods, p.Up}
}

// ReadBudgets reads the file of budgets of the module in dir.
func ReadBudgets(dir string) (*Budgets, error) {
	text, err := os.ReadFile(filepath.Join(dir, BudgetPath))
	if err != nil {
		return nil, err
	}
	return ParseBudgets(string(text))
}

// ParseBudgets parses the text of a file of budgets.
func ParseBudgets(text string) (*Budgets, error) {
	b := &Budgets{}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Split(line, "|")
		for i := range fields {
			fields[i] = strings.TrimSpace(fields[i])
		}
		last := len(fields) - 1
		budget := Budget{Name: fields[0], Reason: fields[last]}
		for _, f := range fields[1:max(1, last)] {
			n, err := strconv.Atoi(f)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", strings.TrimSpace(line), err)
			}
			budget.Most = append(budget.Most, n)
		}
		switch len(budget.Most) {
		case 1:
			b.Sums = append(b.Sums, budget)
		case len(numbers):
			b.Packages = append(b.Packages, budget)
		default:
			return nil, fmt.Errorf("%s: want 1 number or %d", strings.TrimSpace(line), len(numbers))
		}
	}
	return b, nil
}

// String returns the text of the file.
func (b *Budgets) String() string {
	var out strings.Builder
	out.WriteString(budgetHead)
	for i, lines := range [][]Budget{b.Sums, b.Packages} {
		out.WriteString([]string{sumHead, packageHead}[i])
		for _, l := range lines {
			fmt.Fprintf(&out, "%-30s |", l.Name)
			for _, n := range l.Most {
				fmt.Fprintf(&out, " %5d |", n)
			}
			out.WriteString(strings.TrimRight(" "+l.Reason, " ") + "\n")
		}
	}
	return out.String()
}

// find returns the line of a name, or nil.
func find(lines []Budget, name string) *Budget {
	if i := slices.IndexFunc(lines, func(l Budget) bool { return l.Name == name }); i >= 0 {
		return &lines[i]
	}
	return nil
}

// Sum returns the budget of a sum.
func (b *Budgets) Sum(name string) (int, error) {
	l := find(b.Sums, name)
	if l == nil {
		return 0, fmt.Errorf("%s has no line for %q", BudgetPath, name)
	}
	return l.Most[0], nil
}

// Check returns what is wrong with the measured numbers or with the budgets.
func (b *Budgets) Check(m *Measured) []string {
	var wrong []string
	known := map[string]bool{Frames: true}
	for _, s := range m.Sums {
		known[s.Name] = true
		n := sumNumber(s.Name)
		n.what = s.Name
		wrong = append(wrong, check("module", find(b.Sums, s.Name), []number{n}, []int{s.Value})...)
	}
	for _, p := range m.Packages {
		known[p.Name] = true
		wrong = append(wrong, check(p.Name, find(b.Packages, p.Name), numbers, p.values())...)
	}
	for _, l := range slices.Concat(b.Sums, b.Packages) {
		if !known[l.Name] {
			wrong = append(wrong, l.Name+": there is no such package or sum: run "+BudgetCommand)
		}
	}
	return wrong
}

func check(name string, l *Budget, numbers []number, values []int) []string {
	if l == nil {
		return []string{name + ": it has no budget: run " + BudgetCommand}
	}
	var wrong []string
	for i, n := range numbers {
		value, most := values[i], l.Most[i]
		if n.limit > 0 && most > n.limit && l.Reason == "" {
			wrong = append(wrong, fmt.Sprintf("%s: the budget of %d %s is above %d, the most for a package without a reason in its line", name, most, n.what, n.limit))
		}
		switch {
		case value > most:
			wrong = append(wrong, fmt.Sprintf("%s: %d %s, the budget is %d: simplify the code, or raise the budget in %s with the reason in its line", name, value, n.what, most, BudgetPath))
		case most > value+max(n.slack, 3*value/100):
			wrong = append(wrong, fmt.Sprintf("%s: %d %s, the budget is %d: run %s, which lowers it", name, value, n.what, most, BudgetCommand))
		}
	}
	return wrong
}

// Raised returns the lines of b with a higher number than in old and no new reason. It compares
// a new package with the package of the same last name that went, if there is one.
func (b *Budgets) Raised(old *Budgets) []string {
	var wrong []string
	for i, lines := range [][]Budget{b.Sums, b.Packages} {
		earlier := [][]Budget{old.Sums, old.Packages}[i]
		for _, l := range lines {
			before := cmp.Or(find(earlier, l.Name), moved(earlier, lines, l.Name))
			if before == nil || l.Reason != "" && l.Reason != before.Reason {
				continue
			}
			for k, n := range l.Most {
				if n > before.Most[k] {
					wrong = append(wrong, fmt.Sprintf("%s: the budget rose from %d to %d: give the reason at the end of its line in %s", l.Name, before.Most[k], n, BudgetPath))
				}
			}
		}
	}
	return wrong
}

// moved returns the only line of old that has the last element of a path and went, or nil.
func moved(old, now []Budget, name string) *Budget {
	went := slices.DeleteFunc(slices.Clone(old), func(l Budget) bool {
		return path.Base(l.Name) != path.Base(name) || find(now, l.Name) != nil
	})
	if len(went) != 1 {
		return nil
	}
	return &went[0]
}

// Lowered returns budgets that are as low as the measured numbers permit, with lines for
// new packages, and says what exceeds b.
func (b *Budgets) Lowered(m *Measured) (*Budgets, []string) {
	out := &Budgets{}
	var above []string
	lower := func(old *Budget, name string, numbers []number, values []int) Budget {
		l := Budget{Name: name}
		if old != nil {
			l.Reason = old.Reason
		}
		for i, n := range numbers {
			most := (values[i] + n.step - 1) / n.step * n.step
			if old != nil && values[i] > old.Most[i] {
				above = append(above, fmt.Sprintf("%s: %d %s, the budget is %d", name, values[i], n.what, old.Most[i]))
			}
			if old != nil {
				most = min(most, old.Most[i])
			}
			l.Most = append(l.Most, most)
		}
		return l
	}
	for _, s := range m.Sums {
		out.Sums = append(out.Sums, lower(find(b.Sums, s.Name), s.Name, []number{sumNumber(s.Name)}, []int{s.Value}))
	}
	if frames := find(b.Sums, Frames); frames != nil {
		out.Sums = append(out.Sums, *frames)
	}
	for _, p := range m.Packages {
		out.Packages = append(out.Packages, lower(find(b.Packages, p.Name), p.Name, numbers, p.values()))
	}
	return out, above
}

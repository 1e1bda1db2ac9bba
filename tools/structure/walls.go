package structure

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// WallsPath is the file of walls, relative to the repository. WallsCommand lowers its numbers.
const (
	WallsPath    = "tools/structure/walls.txt"
	WallsCommand = "go run -C tools ./structure/cmd/walls"
)

// Folder has the numbers of a top folder of the product, or the most that walls allow for them.
type Folder struct {
	Name     string
	Code     int // hand-written lines of Go that the program contains
	Tests    int // lines of tests, and of packages that only tests use
	Exported int // exported names of the packages that gpfit promises to other modules
	Width    int // methods of the widest type, with the functions of its package that take it first

	widest string // the type
}

const wallsHead = `# The most that each top folder may have. The rows are floors: a folder imports only folders below it.
# "` + WallsCommand + `" lowers the numbers to 3 % above what the code has.
# A raise stands in a commit of its own, whose message names what left for it.
# folder | lines of code | lines of tests | exported names | widest type
`

// whats are the names of a folder's numbers in messages.
var whats = []string{"lines of code", "lines of tests", "exported names", "methods and functions of a type"}

func (f *Folder) numbers() []*int { return []*int{&f.Code, &f.Tests, &f.Exported, &f.Width} }

// slack returns what a wall may have above a number: 3 %, and at least some lines, names or one method.
func slack(i, number int) int { return max((3*number+99)/100, []int{60, 120, 3, 1}[i]) }

// Walls are the folders from the top floor down, with the most that each may have.
type Walls []Folder

// ReadWalls reads the walls of the repository in the folder dir.
func ReadWalls(dir string) (Walls, error) {
	text, err := os.ReadFile(filepath.Join(dir, WallsPath))
	if err != nil {
		return nil, err
	}
	return ParseWalls(string(text))
}

// ParseWalls reads walls from their text, and says which line is wrong.
func ParseWalls(text string) (Walls, error) {
	var w Walls
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Split(line, "|")
		f := Folder{Name: strings.TrimSpace(fields[0])}
		if len(fields) != len(whats)+1 {
			return nil, fmt.Errorf("%s: want %d numbers", strings.TrimSpace(line), len(whats))
		}
		for i, n := range f.numbers() {
			var err error
			if *n, err = strconv.Atoi(strings.TrimSpace(fields[i+1])); err != nil {
				return nil, fmt.Errorf("%s: %w", strings.TrimSpace(line), err)
			}
		}
		w = append(w, f)
	}
	return w, nil
}

// String returns the text of walls.
func (w Walls) String() string {
	var out strings.Builder
	out.WriteString(wallsHead)
	for _, f := range w {
		fmt.Fprintf(&out, "%-10s", f.Name)
		for _, n := range f.numbers() {
			fmt.Fprintf(&out, " | %5d", *n)
		}
		out.WriteString("\n")
	}
	return out.String()
}

func (w Walls) floor(name string) int {
	return slices.IndexFunc(w, func(f Folder) bool { return f.Name == name })
}

// Check compares measured folders and the imports between packages with the walls, and returns what is wrong.
func (w Walls) Check(folders []Folder, imports []Import) []string {
	var wrong []string
	for _, f := range folders {
		at := w.floor(f.Name)
		if at < 0 {
			wrong = append(wrong, fmt.Sprintf("%s: it has no row in %s: give it the floor that its imports need", f.Name, WallsPath))
			continue
		}
		most := w[at]
		for i, n := range f.numbers() {
			wall := *most.numbers()[i]
			what := whats[i]
			if i == len(whats)-1 {
				what += " (" + f.widest + ")"
			}
			switch {
			case *n > wall:
				wrong = append(wrong, fmt.Sprintf("%s: %d %s, the wall is %d: take something out", f.Name, *n, what, wall))
			case wall > *n+2*slack(i, *n):
				wrong = append(wrong, fmt.Sprintf("%s: %d %s, the wall is %d: run %s, which lowers it", f.Name, *n, what, wall, WallsCommand))
			}
		}
	}
	for _, f := range w {
		if !slices.ContainsFunc(folders, func(g Folder) bool { return g.Name == f.Name }) {
			wrong = append(wrong, f.Name+": there is no such folder: remove its row")
		}
	}
	for _, i := range imports {
		if from, to := topOf(i.From), topOf(i.To); from != to && w.floor(from) >= w.floor(to) {
			wrong = append(wrong, fmt.Sprintf("%s imports %s: the folder %s is not below %s", i.From, i.To, to, from))
		}
	}
	return wrong
}

// Lowered returns walls with the numbers of the code and their slack, where that is lower.
func (w Walls) Lowered(folders []Folder) Walls {
	out := slices.Clone(w)
	for at := range out {
		i := slices.IndexFunc(folders, func(f Folder) bool { return f.Name == out[at].Name })
		if i < 0 {
			continue
		}
		for k, n := range folders[i].numbers() {
			wall := out[at].numbers()[k]
			*wall = min(*wall, *n+slack(k, *n))
		}
	}
	return out
}

// Raised names the numbers of w that are above the numbers of old.
func (w Walls) Raised(old Walls) []string {
	var raised []string
	for _, f := range w {
		at := old.floor(f.Name)
		if at < 0 {
			continue
		}
		before := old[at]
		for i, n := range f.numbers() {
			if *n > *before.numbers()[i] {
				raised = append(raised, fmt.Sprintf("%s: %s from %d to %d", f.Name, whats[i], *before.numbers()[i], *n))
			}
		}
	}
	return raised
}

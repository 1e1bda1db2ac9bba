package mpi

import (
	"crypto/sha256"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"gpfit/internal/userfile"
)

// written are the options with paths of files that a command writes. Copies of earlier results may differ.
var written = []string{"--out", "--checkpoint", "--plot"}

// facts returns what all ranks should have in common, by what it is: rank 0 alone reads its command, variables and files.
func facts() map[string]string {
	out := map[string]string{"the command line": strings.Join(os.Args[1:], " ")}
	for _, v := range os.Environ() {
		name, value, _ := strings.Cut(v, "=")
		own := name == "GPFIT_CPU" || strings.HasPrefix(name, "GPFIT_MPI_") || strings.HasPrefix(name, "GPFIT_TEST_")
		if strings.HasPrefix(name, "GPFIT_") && !own {
			out["the variable "+name] = value
		}
	}
	for i, a := range os.Args[1:] {
		name, path, assigned := strings.Cut(a, "=")
		if !assigned {
			name, path = os.Args[i], a
		}
		if f, err := userfile.Open(path, os.O_RDONLY); err == nil {
			sum := sha256.New()
			if _, err := io.Copy(sum, f); err == nil && !slices.Contains(written, name) {
				out["the file "+path] = fmt.Sprintf("SHA-256 %x", sum.Sum(nil))
			}
			f.Close()
		}
	}
	return out
}

// compare returns an error if a rank has something else than rank 0. A file or variable that a rank lacks is no difference: a
// launcher need not pass variables on to other machines, and these need not see the files.
func compare(first, own map[string]string) error {
	for _, what := range slices.Sorted(maps.Keys(own)) {
		want, there := first[what]
		if own[what] != want && (there || !strings.HasPrefix(what, "the file ")) {
			return fmt.Errorf("%s differs from rank 0, whose input alone counts: %.300q, on rank 0 %.300q: start all ranks with the same command, variables and files", what, own[what], want)
		}
	}
	return nil
}

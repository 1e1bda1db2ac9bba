package mpi

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"gpfit/internal/userfile"
)

// What the other ranks have of the command, the variables and the files counts for nothing: rank 0 reads them. Where
// they differ, somebody has started the ranks with another intention, which must not be lost in silence.

// facts returns what all ranks should have in common, by what it is.
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
		if slices.Contains(written, name) {
			continue
		}
		if f, err := userfile.Open(path, os.O_RDONLY); err == nil {
			sum := sha256.New()
			if _, err := io.Copy(sum, f); err == nil {
				out["the file "+path] = "SHA-256 " + hex.EncodeToString(sum.Sum(nil))
			}
			f.Close()
		}
	}
	return out
}

// written are the options with paths of files that a command writes. Copies of earlier results may differ.
var written = []string{"--out", "--checkpoint", "--plot"}

// compare returns an error if a rank has something else than rank 0. What a rank lacks is no difference: a launcher need
// not pass variables on to other machines, and these need not see the files.
func compare(first, own map[string]string) error {
	for _, what := range slices.Sorted(maps.Keys(own)) {
		want, there := first[what]
		if file := strings.HasPrefix(what, "the file "); own[what] == want || file && !there {
			continue
		}
		return fmt.Errorf("%s is not that of rank 0, whose input alone counts: %.300q, on rank 0 %.300q: start all ranks with the same command, variables and files", what, own[what], want)
	}
	return nil
}

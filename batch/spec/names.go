package spec

import (
	"path/filepath"
	"regexp"
	"strings"
)

// maxID bounds the ids of jobs. Names of files contain them and have at most 255 characters.
const maxID = 200

// validName matches the parts of job ids.
var validName = regexp.MustCompile(`^[A-Za-z0-9_+-]{1,80}$`)

// IsID reports whether id has the form of a job's id: names with points between them.
func IsID(id string) bool { return len(id) <= maxID && validID.MatchString(id) }

var validID = regexp.MustCompile(`^[A-Za-z0-9_+-]+([.][A-Za-z0-9_+-]+)*$`)

// baseName returns a file's name without folders and extensions.
func baseName(path string) string {
	name := strings.TrimSuffix(filepath.Base(path), ".gz")
	if base := strings.TrimSuffix(name, filepath.Ext(name)); base != "" {
		return base
	}
	return name
}

// slug turns any text into a name: "rbf(ard) * matern32" becomes "rbf-ard-x-matern32".
func slug(text string) string {
	text = strings.ReplaceAll(text, " + ", "+")
	text = strings.ReplaceAll(text, "*", "x")
	var b strings.Builder
	gap := false
	for _, r := range text {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '+':
			if gap && b.Len() > 0 && r != '+' {
				b.WriteByte('-')
			}
			b.WriteRune(r)
			gap = false
		default:
			gap = true
		}
	}
	return b.String()
}

package spec

import (
	"path/filepath"
	"regexp"
	"strings"
)

// maxID bounds the names of jobs, of which files are named: such a name has at most
// 255 characters.
const maxID = 200

// validName is what job ids are made of.
var validName = regexp.MustCompile(`^[A-Za-z0-9_+-]{1,80}$`)

// IsID says whether id is of the form that job ids have: parts like names, with
// points between them.
func IsID(id string) bool { return len(id) <= maxID && validID.MatchString(id) }

var validID = regexp.MustCompile(`^[A-Za-z0-9_+-]+([.][A-Za-z0-9_+-]+)*$`)

// baseName is a file's name without folders and extensions.
func baseName(path string) string {
	name := strings.TrimSuffix(filepath.Base(path), ".gz")
	if base := strings.TrimSuffix(name, filepath.Ext(name)); base != "" {
		return base
	}
	return name
}

// slug makes a name of any text: "rbf(ard) * matern32" is "rbf-ard-x-matern32".
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

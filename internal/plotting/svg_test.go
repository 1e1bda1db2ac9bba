package plotting

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gpfit/internal/must"
)

// TestSVGImages checks that the images of a grid fill their rectangles, in files and pages:
// without the attribute a browser keeps the aspect ratio of the pixels.
func TestSVGImages(t *testing.T) {
	f := profile()
	inline := must.Get(f.SVG())(t)
	path := filepath.Join(t.TempDir(), "f.svg")
	must.Do(t, f.Write(t.Context(), path, true))
	file := must.Get(os.ReadFile(path))(t)
	for _, text := range []string{inline, string(file)} {
		checkAttributes(t, text)
		all := strings.Count(text, "<image ")
		if filling := strings.Count(text, `<image preserveAspectRatio="none" `); all == 0 || filling != all {
			t.Errorf("%d of %d images fill their rectangles", filling, all)
		}
	}
}

// checkAttributes checks that no element has an attribute twice, which is no XML:
// [xml.Decoder] accepts it, browsers do not.
func checkAttributes(t *testing.T, text string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(text))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		element, _ := token.(xml.StartElement)
		names := map[xml.Name]bool{}
		for _, a := range element.Attr {
			if names[a.Name] {
				t.Errorf("%s has the attribute %s twice", element.Name.Local, a.Name.Local)
			}
			names[a.Name] = true
		}
	}
}

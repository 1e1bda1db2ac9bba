package supply

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/url"
	"os"
	"path/filepath"
)

// The fields that we use of a bill of materials in CycloneDX 1.5 (ECMA-424).
type (
	bom struct {
		Format      string      `json:"bomFormat"`
		SpecVersion string      `json:"specVersion"`
		Version     int         `json:"version"`
		Metadata    metadata    `json:"metadata"`
		Components  []component `json:"components"`
		Depends     []depends   `json:"dependencies"`
	}
	metadata struct {
		Component component `json:"component"`
	}
	component struct {
		Type       string     `json:"type"`
		Ref        string     `json:"bom-ref"`
		Name       string     `json:"name"`
		Version    string     `json:"version"`
		Licenses   []licence  `json:"licenses,omitempty"`
		PURL       string     `json:"purl,omitempty"`
		Hashes     []hash     `json:"hashes,omitempty"`
		Properties []property `json:"properties,omitempty"`
	}
	licence struct {
		Expression string `json:"expression"`
	}
	hash struct {
		Algorithm string `json:"alg"`
		Content   string `json:"content"`
	}
	property struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	depends struct {
		Ref string   `json:"ref"`
		On  []string `json:"dependsOn"`
	}
)

// BOM writes the bill of materials of a program file, from the information that the
// go command stored in it and the licences of modules. The same program gives the
// same bill.
func BOM(w io.Writer, program string, modules []Dependency) error {
	text, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return err
	}
	licenses := map[string]string{}
	for _, m := range modules {
		licenses[m.Path] = m.License
	}
	sum := sha256.Sum256(text)
	b := bom{Format: "CycloneDX", SpecVersion: "1.5", Version: 1}
	b.Metadata.Component = component{
		Type: "application", Ref: info.Main.Path, Name: filepath.Base(info.Path), Version: info.Main.Version,
		Licenses: []licence{{"Apache-2.0"}}, Hashes: []hash{{"SHA-256", hex.EncodeToString(sum[:])}},
		Properties: []property{{"go:version", info.GoVersion}},
	}
	for _, s := range info.Settings {
		b.Metadata.Component.Properties = append(b.Metadata.Component.Properties, property{"go:build:" + s.Key, s.Value})
	}
	all := depends{Ref: info.Main.Path}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		c := component{Type: "library", Ref: purl(m.Path, m.Version), Name: m.Path, Version: m.Version, PURL: purl(m.Path, m.Version)}
		if id := licenses[m.Path]; id != "" {
			c.Licenses = []licence{{id}}
		}
		if m.Sum != "" {
			c.Properties = []property{{"go:sum", m.Sum}}
		}
		b.Components = append(b.Components, c)
		all.On = append(all.On, c.Ref)
	}
	b.Depends = []depends{all}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(b)
}

// purl returns the package URL of a Go module.
func purl(path, version string) string {
	return "pkg:golang/" + (&url.URL{Path: path}).EscapedPath() + "@" + url.PathEscape(version)
}

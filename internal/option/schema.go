package option

import "slices"

// Schema returns the JSON Schema of the option in a batch spec.
func (o *Option) Schema() map[string]any {
	s := map[string]any{"description": o.Help}
	switch o.Kind.Go {
	case "*string":
		s["type"] = "string"
	case "*Word":
		s["type"] = []string{"string", "integer"}
	case "*Scalar":
		s["type"] = []string{"string", "number"}
	case "[]Word":
		s["type"], s["minItems"], s["items"] = "array", 1, map[string]any{"type": []string{"string", "integer"}}
	case "[]string":
		s["type"], s["items"] = "array", map[string]any{"enum": o.SpecWords}
	case "*bool":
		s["type"] = "boolean"
	case "*int":
		s["type"], s["minimum"], s["maximum"] = "integer", o.Least, o.last()
	case "*float64":
		s["type"], s["minimum"] = "number", 0
	case "*Bytes":
		s["type"], s["pattern"] = "string", `^\s*[0-9.]+([eE][+-]?[0-9]+)?\s*([KMGT]i?B?|kB|B)\s*$`
	default:
		s["type"], s["additionalProperties"] = "object", items[o.Kind.Go]
	}
	if o.Words != nil && !o.Kind.Repeats {
		delete(s, "type")
		s["enum"] = o.Words
		if slices.Contains(o.Words, "yes") { // YAML's truth values
			words := []any{true, false}
			for _, w := range o.Words {
				words = append(words, w)
			}
			s["enum"] = words
		}
	}
	return s
}

// items are the schemas of map items, by the Go type of the map.
var items = map[string]any{
	"map[string]float64":   map[string]any{"type": "number"},
	"map[string]*float64":  map[string]any{"type": []string{"number", "null"}},
	"map[string][]float64": map[string]any{"type": "array", "items": map[string]any{"type": "number"}, "minItems": 2, "maxItems": 2},
	"map[string]string":    map[string]any{"type": "string"},
}

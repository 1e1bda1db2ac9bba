package experts

import (
	"errors"
	"testing"

	"gpfit/device"
)

// TestReadState refuses partitions without experts, or with more sizes than experts, before anything uses them.
func TestReadState(t *testing.T) {
	for text, well := range map[string]bool{`null`: false, `{}`: false, `{"a": {"centres": [[0]], "sizes": [3]}}`: false, `{"centres": [[0]], "sizes": [1, 2]}`: false, `{"centres": [[0]], "sizes": [3]}`: true} {
		_, err := Read(device.State{Method: Name, Text: text})
		if _, is := errors.AsType[*StateError](err); is == well {
			t.Errorf("%s: %v", text, err)
		}
	}
}

package resource

import (
	"regexp"
	"testing"
)

func TestKinds(t *testing.T) {
	t.Parallel()
	form := regexp.MustCompile(`^[a-z-]+\.[0-9]+$`)
	for kind, blank := range Kinds() {
		if r := blank(); r.Kind() != kind || !form.MatchString(kind) {
			t.Errorf("%s makes %s", kind, r.Kind())
		}
	}
}

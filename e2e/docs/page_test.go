package docs

import "testing"

func TestMissing(t *testing.T) {
	const printed = "22:27:51  first-20261125-222751-v1ogg\n22:27:51    provision    ok  0.0s\nfirst rate-20  19.8   " +
		"40.0~  0%       - invalid\nreport: /tmp/x/runs/first-20261125-222751-v1ogg/report.html\n"
	for _, row := range []struct {
		name string
		says []string
		want string
	}{
		{"the page of another day",
			[]string{"05:51:50  first-20261121-055150-64c9c", "first rate-20  19.9   40.1  0%       - pass",
				"report: /home/me/runs/first-20261121-055150-64c9c/report.html"}, ""},
		{"lines that are left out", []string{"...", "report: /home/me/runs/first-20261121-055150-64c9c/..."}, ""},
		{"a line that is not printed", []string{"05:51:50    smoketest    ok  0.0s"}, "05:51:50    smoketest    ok  0.0s"},
		{"another order", []string{"05:51:50    provision    ok  0.0s", "05:51:50  first-20261121-055150-64c9c"},
			"05:51:50  first-20261121-055150-64c9c"},
	} {
		if got := Missing(row.says, printed); got != row.want {
			t.Errorf("%s: %q is missing, want %q", row.name, got, row.want)
		}
	}
}

package history

import "testing"

func TestPrintedIsWhatTheCommandPrinted(t *testing.T) {
	for result, want := range map[string]string{
		"exit code 0\nwall time 0.00 seconds\noutput:\none\ntwo\n":                               "one\ntwo\n",
		"exit code 1\nwall time 0.00 seconds\noutput:\n":                                         "",
		"exit code 124\ntimed out after 1s and was killed\nwall time 1.00 seconds\noutput:\nx":   "x",
		"aborted by the user\nwall time 1.00 seconds\noutput:\noutput:\ny":                       "output:\ny",
		"exit code 0\nwall time 0.00 seconds\noutput:\n1\n" + WholeHint + "9 bytes) can be read": "1\n",
		// of another form
		"exit code 125\nno sandbox: why": "exit code 125\nno sandbox: why",
		"output:\nx":                     "output:\nx",
		"":                               "",
	} {
		if got := Printed(result); got != want {
			t.Errorf("%q: got %q, want %q", result, got, want)
		}
	}
}

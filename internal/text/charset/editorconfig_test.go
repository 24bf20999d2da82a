package charset

import "testing"

func TestConfigured(t *testing.T) {
	const config = `# who knows
root = true
[*]
charset = utf-8
[*.{txt,rc}]
charset = latin1
[legacy/**.c]
charset = Shift_JIS
[/top.js]
charset = utf-16le ; for the old tool
[{a,b{1..3}}.dat]
charset = utf-8-bom
[[!x]y?.md]
charset = koi8-r
[keep.txt]
charset = unset
[{one}.cfg]
charset = big5
`
	for file, want := range map[string]string{
		"a.go": "utf-8", "a.txt": "latin1", "deep/down/a.rc": "latin1", "legacy/a.c": "shift_jis",
		"legacy/x/y.c":     "shift_jis",
		"other/legacy/a.c": "utf-8", "top.js": "utf-16le", "sub/top.js": "utf-8", "a.dat": "utf-8-bom",
		"x/b2.dat": "utf-8-bom",
		"b4.dat":   "utf-8", "zyq.md": "koi8-r", "xyq.md": "utf-8", "keep.txt": "", "{one}.cfg": "big5", "one.cfg": "utf-8",
	} {
		got, root := Configured([]byte(config), file)
		if got != want || !root {
			t.Errorf("%s: got %q, root %v, want %q", file, got, root, want)
		}
	}
}

func FuzzConfigured(f *testing.F) {
	f.Add([]byte("[{a,{b,c}}*[!a-z]**?\\]\ncharset=x\n"), "a/b")
	f.Add([]byte("[{1..9}][{{{,,}}]\nroot=true"), "9")
	f.Fuzz(func(t *testing.T, config []byte, file string) {
		Configured(config, file)
	})
}

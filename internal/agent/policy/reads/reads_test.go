package reads

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// wordsOf splits a line of a table at blanks; words in single quotes may have some.
func wordsOf(line string) (argv []string) {
	word, begun, quoted := "", false, false
	for _, c := range line + " " {
		switch {
		case c == '\'':
			quoted, begun = !quoted, true
		case c == ' ' && !quoted:
			if begun {
				argv = append(argv, word)
			}
			word, begun = "", false
		default:
			word, begun = word+string(c), true
		}
	}
	return argv
}

// TestOnly: commands that only read, and, in the second list, such that write, start a program,
// connect, read a secret, or are not known.
func TestOnly(t *testing.T) {
	for want, list := range map[bool]string{true: readers, false: others} {
		for line := range strings.Lines(list) {
			line = strings.TrimSpace(line)
			if argv := wordsOf(line); Only(argv) != want {
				t.Errorf("%s: only reads is %v", line, !want)
			}
		}
	}
	if Only(nil) {
		t.Error("no words only read")
	}
}

const readers = `ls -la
	cat file
	git status --short
	git log -n 5 --oneline main..x
	git log -5 -- path
	git -P log
	git --no-pager --no-optional-locks diff --cached
	git show HEAD:file
	git branch -a
	git branch --list x*
	git branch --contains main
	git branch --contains=main -v
	git branch --sort=-committerdate
	git branch
	git tag
	git tag -l v1*
	git tag -n1
	git tag --merged main
	git remote
	git remote -v
	git remote get-url origin
	git stash list
	git stash show -p
	git worktree list --porcelain
	git reflog
	git reflog show main
	git reflog -5
	git blame -L 1,5 file
	git rev-parse --show-toplevel
	git grep -n x -- '*.go'
	git version
	node --version
	node -v
	python3 --version
	git --version
	base64 -d file
	base64 -w 0
	base64 -w0
	tree -L 2
	rg -n --glob '*.go' x
	rg --glob=*.go x
	rg -C3 x
	sort -t, -k2 f
	sort --key=2 --check=quiet f
	diff -u a b
	diff -5 a b
	diff --unified=3 a b
	uniq -c in
	xxd -l 16 in
	hostname
	hostname -s
	nm -C a.out
	readelf -h a.out
	file -b x
	sed -n 1,5p f
	sed -n '$p' f
	sed s/a/b/g f
	sed -e s/a/b/ -e /x/d f
	sed '/a/,/b/p' f
	sed '3!d' f
	sed 5= f
	sed -E 's|a\|b|c|2' f
	awk '{print $1}' f
	awk -F : '{print $1}' f
	awk -F, -v a=b '{print a}'
	cat .env.example
	cat id_rsa.pub
	cat shadow
	cat /proc/cpuinfo
	cat /dev/null
	find . -name x -type f
	test -f x
	date +%F
	date -u -d yesterday +%s
	date -r file
	date --iso-8601=seconds
	cat -- -x
	tac file
	getconf PAGESIZE
	getconf -a
	ps aux
	ps -e -f
	[ -f x ]
	command -v go
	tar tzf a.tgz
	unzip -l a.zip
	find . -size +10M
	find - -maxdepth 2 -print0
	find . -newer x -printf %p
	go version
	go env GOPATH
	go env -json GOOS
	printf '%s\n' a
	printf '%5.2f %%' 1
	git shortlog -w76,6,9
	git show-ref -s8
	diff3 a b c
	gofmt -l .
	file --mime-type x
	strings -n 8 a.out
	git -P log
	jq .a f`

const others = `./ls
	/bin/ls
	frob
	rm x
	git
	git -C dir log
	git -c core.pager=x log
	git push
	git log --output=x
	git log --ext-diff
	git log --format=%GS
	git log --show-signature
	git diff --textconv
	git grep -O x
	git grep --open-files-in-pager x
	git branch x
	git branch -d x
	git branch -D x --list
	git branch --contains -d x
	git branch -m a b
	git tag v1
	git tag -d v1
	git tag -a v1
	git tag --merged -d x
	git remote add x y
	git remote get-url --push origin
	git remote get-url
	git remote show origin
	git remote --verbose x y
	git stash
	git stash pop
	git stash drop
	git worktree add x
	git worktree list x
	git worktree
	git reflog expire
	git reflog delete x
	git reflog show --output=x
	git rev-list --stdin --frob
	node
	node -v x
	python3 -v
	cargo --version
	npm --version
	base64 -o x
	base64 -dox
	tree -o x
	tree -R
	rg --pre x y
	rg --pre=x y
	rg -z x
	rg --no-such x
	sort -o x f
	sort -ux f
	sort --output=x f
	sort --reverse=x f
	sort -k
	sort --key
	sort -k -o x
	diff -l a b
	uniq in out
	uniq in -c
	xxd in out
	xxd -r in
	hostname new
	hostname -s x
	arch ls
	nm @x
	nm --plugin=x a
	file -C -m x
	file -z x
	sed -i s/a/b/ f
	sed -n
	sed -e
	sed s/a/b/w f
	sed s/a/b/e f
	sed 'w x' f
	sed -f x f
	sed 's/a/b/;e rm' f
	sed s[a[b[ f
	sed s/a
	sed s/[/]/b/ f
	sed y/a/b/ f
	sed x f
	sed e f
	sed '1,2,3p' f
	sed s
	awk
	awk -f x
	awk -F
	awk 'BEGIN{system("rm")}'
	awk '{print > "x"}'
	awk '{print | "x"}'
	awk '"x" | getline'
	awk '@load "x"'
	awk '{print ENVIRON["X"]}'
	awk --file=x
	find . -delete
	find . -exec rm {} ;
	fd -x rm
	tac
	tac -
	getconf -v spec X
	getconf a b c
	ps --frob
	test -v a[0]
	[ -R a ]
	command ls
	command -v go x
	command -p ls
	tar xf a.tgz
	tar tf host:a
	tar tf a --to-command=x
	unzip a.zip
	unzip -l -x
	unzip -l a b
	find . -ok rm {} ;
	find . -fprint x
	find . -execdir rm {} ;
	find . -files0-from x
	find . -newerat 1 -frob
	date -s 12:00
	date 010112002026
	go
	go version -m x
	go env
	go env -w A=b
	go env -json
	go env CC
	go env CGO_ENABLED
	go env GOGCCFLAGS
	go build
	printf
	printf -v x y
	printf %n PATH
	printf '%s%n' a PATH
	printf '\x25n' PATH
	printf %
	printf '\045n' a
	git show-ref --frob
	gofmt -w x
	cat --file=dir/.netrc
	cat .env
	cat .env.staging
	cat dir/.ssh/config
	cat ~/.aws/credentials
	cat /etc/shadow
	cat id_rsa
	cat id_rsa_work
	cat key.pem
	cat a.p12
	cat .config/gh/hosts.yml
	cat /proc/1/environ
	cat /dev/sda
	cat 'C:\x\.netrc'
	grep x --file=.netrc
	git diff HEAD:.env`

// TestGrammars: for each program with a grammar, words made of it only read, with one option more
// that is not in it they are not known, and behind -- everything is an operand.
func TestGrammars(t *testing.T) {
	all := map[string]form{}
	for _, f := range forms {
		for name := range strings.FieldsSeq(f.names) {
			all[name] = f.form
		}
	}
	for _, f := range gitForms {
		for name := range strings.FieldsSeq(f.names) {
			all["git "+name] = f.form
		}
	}
	for name, f := range all {
		if f.free {
			continue
		}
		t.Run(name, func(t *testing.T) {
			seen := map[rune]bool{}
			for _, c := range f.flags + f.valued + f.optional {
				if seen[c] {
					t.Errorf("-%c has two meanings", c)
				}
				seen[c] = true
			}
			long := map[string]string{}
			for _, name := range strings.Fields(f.long) {
				bare := strings.TrimRight(name, "=?")
				if long[bare] != "" && long[bare] != name {
					t.Errorf("--%s has two meanings", bare)
				}
				long[bare] = name
			}
			rapid.Check(t, func(r *rapid.T) { f.checkDrawn(r) })
		})
	}
}

func (f form) checkDrawn(r *rapid.T) {
	var parts [][]string
	for range rapid.IntRange(0, 3).Draw(r, "options") {
		if way := f.drawOption(r); way != nil {
			parts = append(parts, way)
		}
	}
	operands := rapid.IntRange(0, 2).Draw(r, "operands")
	if f.operands != 0 {
		operands = min(operands, max(f.operands, 0))
	}
	argv := slices.Concat(parts...)
	for range operands {
		argv = append(argv, "operand")
	}
	if !f.admits(argv) {
		r.Fatalf("%q is refused", argv)
	}
	if f.operands != 0 {
		if more := slices.Concat(argv, slices.Repeat([]string{"operand"}, max(f.operands, 0)-operands+1)); f.admits(more) {
			r.Fatalf("%q has too many operands", more)
		}
	}
	strange := rapid.SampledFrom(f.strange()).Draw(r, "strange")
	at := rapid.IntRange(0, len(parts)).Draw(r, "at")
	with := slices.Concat(slices.Concat(parts[:at]...), []string{strange}, slices.Concat(parts[at:]...))
	if f.admits(with) {
		r.Fatalf("%q is admitted", with)
	}
	if behind := slices.Concat(argv, []string{strange}); f.ordered && f.admits(behind) {
		r.Fatalf("%q is admitted", behind)
	}
	if f.operands == 0 {
		if behind := slices.Concat(slices.Concat(parts...), []string{"--", strange}); !f.admits(behind) {
			r.Fatalf("%q is refused", behind)
		}
	}
	if at := append(slices.Clone(argv), "@file"); f.bare && f.admits(at) {
		r.Fatalf("%q is admitted", at)
	}
}

// drawOption makes an option of the grammar, with its value.
func (f form) drawOption(r *rapid.T) []string {
	var ways [][]string
	flag := ""
	for _, c := range f.flags {
		ways = append(ways, []string{"-" + string(c)})
		flag = string(c)
	}
	for _, c := range f.valued {
		ways = append(ways, []string{"-" + string(c), "value"}, []string{"-" + string(c) + "value"}, []string{"-" + flag + string(c) + "7"})
	}
	for _, c := range f.optional {
		ways = append(ways, []string{"-" + string(c)}, []string{"-" + string(c) + "value"})
	}
	for _, name := range strings.Fields(f.long) {
		bare := strings.TrimRight(name, "=?")
		switch name[len(bare):] {
		case "=":
			ways = append(ways, []string{"--" + bare, "value"}, []string{"--" + bare + "=-value"})
		case "?":
			ways = append(ways, []string{"--" + bare}, []string{"--" + bare + "=value"})
		default:
			ways = append(ways, []string{"--" + bare})
		}
	}
	if f.digits {
		ways = append(ways, []string{"-20"})
	}
	if len(ways) == 0 {
		return nil
	}
	return rapid.SampledFrom(ways).Draw(r, "way")
}

// strange are options that the grammar does not have, also such that only look like one of its own.
func (f form) strange() []string {
	list := []string{"--no-such-option", "--no-such=x", "-@", "-@value"}
	if !f.digits {
		list = append(list, "-\u00e4")
	}
	for _, c := range f.flags {
		list = append(list, "-"+string(c)+"@")
		break
	}
	for _, name := range strings.Fields(f.long) {
		if !strings.HasSuffix(name, "=") && !strings.HasSuffix(name, "?") {
			list = append(list, "--"+name+"=value")
			break
		}
	}
	for _, c := range f.valued { // without a value, or with one that looks like an option
		list = append(list, "-"+string(c))
		break
	}
	return list
}

func TestBuiltin(t *testing.T) {
	for name, want := range map[string]bool{"cd": true, "[": true, "ls": false, "printf": true, "command": true} {
		if Builtin(name) != want {
			t.Errorf("%s is done by the shell: %v", name, !want)
		}
	}
	for name, want := range map[string]bool{"ls": true, "sed": true, "git": true, "rm": false} {
		if Listed(name) != want {
			t.Errorf("%s is listed: %v", name, !want)
		}
	}
}

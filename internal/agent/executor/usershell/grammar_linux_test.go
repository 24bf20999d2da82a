package usershell

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"kerf/internal/agent/policy/reads"
)

// programs are those that Kerf takes for reading in some use, with options of all kinds.
var programs = map[string]string{
	"cat": "-n -A -b -s", "head": "-n -c -1 -q", "tail": "-n -c -2", "ls": "-l -la -R -Z --color --hyperlink", "wc": "-l -c",
	"sort": "-o -u -k -t -T -S --output=out --compress-program=./evil -r -n -c --files0-from=f --debug", "cut": "-d: -f1 -c1",
	"uniq": "-c -d -f -s -w -- --group -i", "xxd": "-r -p -g -l -s -c -ps -i -b -u -cols -seek -revert", "tr": "a-z A-Z -d",
	"tree": "-o -R -L -a --fromfile -J -H -d", "base64": "-d -o -w -i", "shuf": "-o -n -e --random-source=f -z", "nl": "-ba",
	"iconv": "-f -t -o -c -l utf8", "comm": "-12 -3", "join": "-j -1", "paste": "-d, -s", "fold": "-w -s", "stat": "-c -f -L",
	"od": "-c -x -N", "diff": "-u -r -l -q -y --paginate --label", "cmp": "-l -s", "md5sum": "-c -b", "cksum": "-a", "du": "-s -h",
	"find": "-name -type -delete -fprint -fls -exec -ok -print -printf -newer -maxdepth -o ! -print0 -ls . 1 f '*.txt'",
	"grep": "-r -n -i -l -c -v -o -f -e one two --include=x -P", "rg": "--pre -z -n -i -l --hostname-bin -g --files one -uu --no-config",
	"sed": "-n -i -e -f 1p '$d' 's/a/b/' 's/a/b/w' 'w out' '1e' 's/x/id/e' -s --in-place -E /one/p", "file": "-C -m -z -b -i -f -p",
	"awk":  `'{print}' 'BEGIN{system("id")}' '{print>"out"}' -f -F, -v 'NR==1' '{print|"cat"}'`,
	"date": "+%s -d -s -u -r 2020-01-01 -f", "hostname": "-s -f -i -I -F x", "printf": "'%s' '%n' PATH '%d' -v '\\045n' '%5.*s' '%b' '%(%s)T'",
	"test": "-f -d -v -R a.txt 'a[$(./evil)]' = x", "git": "status log diff show grep -n -L :one:a.txt -Sone --word-diff=color --submodule=log --no-index --stat=10 --since=1.week " +
		"--batch --batch-check --filters --textconv --path=a.txt for-each-ref --shell '--format=%(signature)' rev-list --all ls-tree name-rev --stdin diff-tree diff-files " +
		"diff-index range-diff archive -o bundle fsck gc notes var GIT_EDITOR help -P --literal-pathspecs --git-dir=emb --work-tree=. --exec-path=0 bisect submodule " +
		"foreach ./evil check-attr diff check-ignore count-objects -v whatchanged merge-base annotate difftool -x./evil show-branch cherry rebase difft --no-optional-locks -n -O./evil -nO./evil --output=out --ext-diff --textconv " +
		"describe --dirty --always branch -a -d x tag -l remote -v stash list show-ref rev-parse HEAD ls-files -c core.pager=./evil " +
		"blame a.txt --stat -p --oneline -C emb cat-file reflog --format=%GG shortlog one --show-signature --no-pager worktree config",
	"go": "version env GOPATH doc -w GOPROXY=x list -json fmt -http GOGCCFLAGS", "gofmt": "-l -d -w -s -e main.go", "jq": ". .a -r -f",
	"cargo": "--version build", "rustc": "--version", "python3": "--version -c -m", "node": "--version -v -e", "npm": "--version ls",
	"pip": "list show freeze --outdated", "getconf": "-a -v ./evil PATH ARG_MAX", "column": "-t -s,", "strings": "-n -a @f",
	"nm": "-D --plugin=./evil @f", "objdump": "-d -S -h @f", "readelf": "-h -w -a @f", "tar": "tf cf xf -tf -I./evil --to-command=./evil",
	"unzip": "-l -p", "ps": "-e -ef aux e", "cd": "emb bin 0 .. . /", "echo": "x -e", "env": "PATH=0", "xargs": "-n cat", "command": "-v -p ls",
	"type": "ls -a", "which": "ls -a", "seq": "1 3", "expr": "1 + 2", "df": "-h --sync", "id": "-u", "uname": "-a", "zcat": "-f", "zgrep": "-e x",
	"eviltool": "", "ls2": "", "true": "", "basename": "a/b", "realpath": "-e", "tac": "-r", "rev": "", "fmt": "-w", "pr": "-l", "cal": "-3",
	"numfmt": "--to=iec 1000", "fd": "-x -X -l -e txt -H", "make": "--version -n", "bash": "--version -c 'ls -l' 'sort -o out f'", "touch": "", "rm": "-f",
	"less": "-o out -E", "more": "", "bat": "--pager ./evil", "vim": "-c ':w out'", "man": "-P ./evil ls", "locate": "-d f x", "perl": "-ne 'print' -i -e 1 --version",
	"ruby": "--version -e 1", "sqlite3": "--version x.db '.shell id'", "curl": "--version -o out file:///etc/hosts", "wget": "-O out", "gzip": "-l -k -c -d", "xz": "-l -k",
	"zstd": "-l -o out", "split": "-l 1 --filter=./evil", "csplit": "f 1", "tee": "out", "dd": "if=f of=out", "cp": "-n", "install": "-m 600", "ln": "-s", "mkfifo": "p",
	"mktemp": "-u -d", "truncate": "-s 0", "script": "-c id", "ed": "-s", "dig": "@127.0.0.1 x", "host": "x", "getent": "hosts localhost passwd", "ping": "-c1",
	"who": "-a", "last": "-f f", "w": "", "vmstat": "1 1", "lscpu": "-J", "lsblk": "", "mount": "", "dmesg": "-c", "docker": "ps --version", "kubectl": "get", "ss": "-tn",
	"ip": "addr link", "timeout": "1 5 ls cat", "nice": "-n 5 cat", "nohup": "cat", "stdbuf": "-o0 cat", "time": "-o -p cat", "exec": "-a x cat ls", "eval": "ls 'sort -o out f'",
	"source": "f", ".": "./evil f", "export": "PATH=0 A=b", "unset": "PATH", "alias": "ls=./evil", "trap": "./evil EXIT", "read": "-r PATH", "mapfile": "-C ./evil -c1 x",
	"let": "a=1 'a[$(./evil)]=1'", "declare": "-p -x PATH=0", "hash": "-p ./evil ls", "enable": "-f ./evil x", "set": "-e -x", "shopt": "-s expand_aliases", "pushd": "bin 0",
	"printenv": "PATH", "nproc": "--all", "free": "-h", "uptime": "-p", "locale": "-a", "factor": "12", "tsort": "", "hexdump": "-C -f", "expand": "-t4", "dirname": "a/b",
	"readlink": "-f", "sha256sum": "-c -b", "b2sum": "-l8", "base32": "-d -w", "egrep": "-f one", "fgrep": "-r", "vdir": "-l", "dir": "", "whoami": "", "groups": "", "tty": "",
	"pwd": "-P", "sleep": "0", "diff3": "-m -A --diff-program=./evil", "size": "-A --format=x @f", "sw_vers": "", "arch": "x ./evil", "sdiff": "-o out", "whatis": "ls",
	"apropos": "x", "tput": "cols", "clear": "", "lsof": "-p1", "pgrep": "x", "pidof": "x", "watch": "ls", "yes": "", "look": "x", "ul": "", "colrm": "1", "bc": "-l", "dc": "-e '!id'",
	"m4": "-E", "cpp": "-o out", "gcc": "--version -wrapper ./evil", "cc": "-v --version", "ld": "--version", "ar": "t x", "objcopy": "f out", "strip": "-o out", "patch": "-o out",
	"rsync": "-e ./evil", "scp": "-S ./evil", "ssh": "-V -oProxyCommand=./evil", "docker-compose": "config", "php": "--version -r 1", "lua": "-v", "deno": "--version", "ctags": "-o out",
}

// listed are those of them that have uses which only read.
var listed = slices.DeleteFunc(slices.Sorted(maps.Keys(programs)), func(name string) bool {
	return !reads.Listed(name)
})

// chosen are lines that are tried in every run.
var chosen = []string{"cd sub && git status", "cd sub; git diff", "cd lnk && git status", "cd lnk && git diff --submodule=diff", "cd lnk/ ; git describe --dirty",
	"cd sub/inner && git diff", "cd emb && git log"}

// split reads the options of a program: words, of which those in single quotes may hold blanks.
func split(options string) (words []string) {
	for options = strings.TrimSpace(options); options != ""; options = strings.TrimSpace(options) {
		end := strings.IndexByte(options, ' ')
		if options[0] == '\'' {
			end = strings.IndexByte(options[1:], '\'') + 2
		}
		if end < 0 {
			end = len(options)
		}
		words, options = append(words, options[:end]), options[end:]
	}
	return words
}

var operands = []string{"a.txt", "b.txt", "f", "out", "-", "--", ".", "x.json", "emb", "1", "2", "one", "-o", "out2", "0", "./evil", "-x", "HEAD",
	"sub", "lnk", "*.txt", "~", "a{,.bak}", "[ab].txt", "$HOME", "${A:-f}", "new\nline"}

// generate makes a line of one to three commands.
func generate(r *rand.Rand) string {
	var b strings.Builder
	if r.IntN(10) == 0 {
		b.WriteString([]string{"cd emb && ", "cd sub && ", "cd lnk; ", "cd sub/inner && ", "cd ./0 && ", "A=b; ", "set -- x; "}[r.IntN(7)])
	}
	for i := range 1 + r.IntN(8)/6 + r.IntN(8)/7 {
		if i > 0 {
			b.WriteString([]string{" && ", "; ", " | ", " || ", "\n", " & ", " |& "}[r.IntN(7)])
		}
		b.WriteString(around(r, command(r)))
	}
	return b.String()
}

// command makes one command with options and operands.
func command(r *rand.Rand) string {
	all := slices.Sorted(maps.Keys(programs))
	name := all[r.IntN(len(all))]
	switch n := r.IntN(10); {
	case n < 2:
		name = "git"
	case n < 7:
		name = listed[r.IntN(len(listed))]
	}
	words := []string{name}
	options := split(programs[name])
	for range r.IntN(3) {
		if len(options) > 0 {
			words = append(words, options[r.IntN(len(options))])
		}
	}
	for range r.IntN(3) {
		words = append(words, operands[r.IntN(len(operands))])
	}
	for i, w := range words {
		if r.IntN(24) == 0 {
			words[i] = spelled(r, w)
		}
	}
	return strings.Join(words, " ")
}

// spelled writes a word in another way that may mean the same.
func spelled(r *rand.Rand, w string) string {
	if strings.ContainsAny(w, "'\"\\$") {
		return w
	}
	half := len(w) / 2
	switch r.IntN(8) {
	case 0:
		return "'" + w + "'"
	case 1:
		return `"` + w + `"`
	case 2:
		return w[:half] + "''" + w[half:]
	case 3:
		return w[:half] + "\\" + w[half:]
	case 4:
		var octal strings.Builder
		for i := range len(w) {
			fmt.Fprintf(&octal, `\%03o`, w[i])
		}
		return "$'" + octal.String() + "'"
	case 5:
		return `$"` + w + `"`
	case 6:
		return "{" + w + ",f}"
	}
	return w[:half] + "\\\n" + w[half:]
}

// around puts a command into what shells, and programs that start others, have for it.
func around(r *rand.Rand, c string) string {
	switch r.IntN(120) {
	case 0:
		return "env -S " + `"` + c + `"`
	case 1:
		return "env A=b " + c
	case 2:
		return "env -u PATH " + c
	case 3:
		return "env -C emb " + c
	case 4:
		return "echo f | xargs " + c
	case 5:
		return "xargs -a f -I{} " + c + " {}"
	case 6:
		return "find . -maxdepth 1 -name f -exec " + c + " {} \\;"
	case 7:
		return "command " + c
	case 8:
		return "( " + c + " )"
	case 9:
		return "{ " + c + "; }"
	case 10:
		return "if true; then " + c + "; fi"
	case 11:
		return "for x in a.txt b.txt; do " + c + " $x; done"
	case 12:
		return "time " + c
	case 13:
		return "! " + c
	case 14:
		return c + " 2>&1"
	case 15:
		return c + " 2>/dev/null"
	case 16:
		return c + " < a.txt"
	case 17:
		return c + " > out"
	case 18:
		return c + " >| out"
	case 19:
		return c + " <<< one"
	case 20:
		return c + " <<EOF\none\nEOF\n"
	case 21:
		return "echo $(" + c + ")"
	case 22:
		return "cat <(" + c + ")"
	case 23:
		return "PAGER=./evil " + c
	case 24:
		return "LC_ALL=C " + c
	case 25:
		return "GIT_EXTERNAL_DIFF=./evil " + c
	case 26:
		return "bash -c '" + c + "'"
	case 27:
		return "timeout 1 " + c
	case 28:
		return "nice " + c
	case 29:
		return "x() { " + c + "; }; x"
	case 30:
		return "exec " + c
	case 31:
		return "builtin " + c
	case 32:
		return c + " # > out"
	case 33:
		return "[[ -n x ]] && " + c
	case 34:
		return "case x in x) " + c + ";; esac"
	case 35:
		return "while " + c + "; do break; done"
	case 36:
		return c + " &> out"
	case 37:
		return c + " 3> out"
	case 38:
		return c + " <> out"
	case 39:
		return "\\" + c
	}
	return c
}

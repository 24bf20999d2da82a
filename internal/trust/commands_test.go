//go:build linux

package trust

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// recipe is one kind of command. In its text, %F stands for a file, %D for a directory
// and %N for a number; each history puts its own in.
type recipe struct {
	text string
	// touches are the paths that it may change, with %F, %D and %N as in text. A path that
	// ends in a slash stands for all below it, and "/" for everything.
	touches string
	trait   trait
}

type trait int

const (
	moves   trait = 1 << iota // it may bring the bytes of others to other paths
	carries                   // it may write the bytes of others anew
	slow                      // for long runs only
	later                     // it may still write when the call is over
)

// recipes are the commands of the histories: real ones, as people and models type them.
var recipes = []recipe{
	{"git checkout -q other", "/", carries}, {"git checkout -q -- .", "/", carries}, {"git stash -q", "/", carries},
	{"git stash -q; sleep 0.02; git stash pop -q", "/", carries}, {"git reset -q --hard", "/", carries},
	{"git reset -q --hard HEAD~1", "/", carries}, {"git clean -fdq", "/", 0}, {"git clean -fdxq %D", "%D/", 0},
	{"git add -A && git commit -qm now; git rebase -q other", "/", carries}, {"git merge -q other -m merged", "/", carries},
	{"git rm -qrf docs", "docs/", 0}, {"git mv docs/2.md docs/two.md", "docs/", moves | carries},
	{"git apply fix.patch", "c.txt", carries}, {"git cherry-pick other", "/", carries},
	{"git restore docs", "docs/", carries}, {"git revert --no-edit HEAD", "/", carries},
	{"git checkout -q HEAD~1 -- docs", "docs/", carries}, {"git switch -qc new; git commit -qam x", "", 0},
	{"make -s -C src", "src/", 0}, {"make -s -C src clean", "src/", 0}, {"gcc -c -o src/util.o src/util.c", "src/util.o", 0},
	{"gofmt -w go", "go/", carries}, {"cd go && GOCACHE=/tmp/gc go build -o prog .", "go/", slow},
	{"npm pkg set version=1.%N.0", "package.json", carries}, {"npm install --no-audit --no-fund ./go", "/", slow | carries},
	{"tar cf d.tar d && rm -rf d && tar xf d.tar", "d/ d.tar", carries}, {"tar cf all.tar docs %F", "all.tar", carries},
	{"tar cf - docs | tar xf - -C %D", "%D/", carries}, {"rsync -a docs/ copy/", "copy/", carries},
	{"rsync -a --delete docs/ %D/", "%D/", carries}, {"sed -i 's/1/one/' %F", "./", carries}, {"sed -i '3d' a.txt b.txt c.txt", "./", carries},
	{"sed -i.bak '1i first %N' %F", "./ %F.bak", moves | carries}, {"patch -s -p1 < fix.patch", "c.txt c.txt.", moves | carries}, // its backup is the file itself
	{"patch -s -p1 < fix.patch; sleep 0.02; patch -s -R -p1 < fix.patch", "c.txt c.txt.", moves | carries},
	{"python3 -c 'open(\"%F\",\"a\").write(\"py%N\\n\")'", "%F", 0},
	{"python3 -c 'f=open(\"%F\",\"r+\"); f.seek(4); f.write(\"PY\")'", "%F", 0},
	{"python3 -c 'import os; open(\"t.%N\",\"w\").write(\"new\\n\"); os.replace(\"t.%N\",\"%F\")'", "%F t.%N", moves},
	{"python3 -c 'import shutil; shutil.copytree(\"d\",\"tree%N\")'", "tree%N/", carries},
	{"python3 -c 'import mmap; f=open(\"a.txt\",\"r+\"); m=mmap.mmap(f.fileno(),0); m[0:2]=b\"MM\"'", "a.txt", 0},
	{"sqlite3 db.sqlite 'create table if not exists t(x); insert into t values(%N); insert into t select x+1 from t'", "db.sqlite db.sqlite-journal", 0},
	{"sqlite3 wal.sqlite 'pragma journal_mode=wal; create table if not exists t(x); insert into t values(%N)'",
		"wal.sqlite wal.sqlite-wal wal.sqlite-shm wal.sqlite-journal", 0},
	{"dd if=/dev/zero of=data/y.bin bs=100 seek=3 count=2 conv=notrunc status=none", "data/y.bin", 0},
	{"dd if=/dev/urandom of=data/new%N.bin bs=1k count=40 status=none", "data/new%N.bin", 0},
	{"cp --reflink=auto %F copy%N.txt", "copy%N.txt", carries}, {"cp a.txt %F", "%F", carries}, {"cp -a d copyd%N", "copyd%N/", carries},
	{"mv %D moved%N", "%D/ moved%N/", moves}, {"mv %F moved%N.txt", "%F moved%N.txt", moves}, {"mv %F tmp%N; sleep 0.01; mv tmp%N %F", "%F tmp%N", moves},
	{"find %D -name '*.txt' -delete", "%D/", 0}, {"find . -name '*.md' -exec rm {} +", "/", 0}, {"chmod -R go-r %D", "%D/", 0},
	{"chmod +x %F", "%F", 0}, {"ln %F hard%N", "hard%N", moves | carries}, {"ln -s a.txt soft%N", "soft%N", 0}, {"ln -sf b.txt link", "./", 0},
	{"echo linked >> h1", "h1", 0}, {"truncate -s 20 %F", "%F", 0}, {"truncate -s +100 %F", "%F", 0}, {"mkfifo pipe%N", "pipe%N", 0},
	{"install -m 755 a.txt bin%N", "bin%N", carries}, {"split -l 9 a.txt part%N.", "part%N", carries}, {"echo teed | tee -a a.txt b.txt > /dev/null", "a.txt b.txt", 0},
	{"gzip -f %F", "%F %F.gz", 0}, {"gzip %F; sleep 0.01; gunzip %F.gz", "%F %F.gz", carries}, {"xz -k %F", "%F.xz", 0},
	{"(for i in 1 2 3 4; do echo bg$i >> bg.txt; sleep 0.01; done) & echo fg >> %F; wait", "bg.txt %F", 0},
	{"(sleep 0.15; echo late >> late%N.txt) & echo soon > soon%N.txt", "late%N.txt soon%N.txt", later},
	{"for i in 1 2 3 4 5 6 7 8; do echo $i >> loop.txt; sleep 0.06; done", "loop.txt", later},
	{"perl -i -pe 's/2/two/' %F", "./", carries}, {"awk '{print $1}' a.txt > awk%N.txt", "awk%N.txt", carries},
	{"awk '{print NR, $0}' %F > t%N && mv t%N %F", "%F t%N", moves | carries}, {"ls %D/* | head -3 | xargs rm -f", "/", 0}, {"rm -rf %D", "%D/", 0},
	{"rm -rf %D && echo file > %D", "%D/", 0}, {"rm -f %F && mkdir %F && echo in > %F/in", "%F/", 0}, {"rm -f %F; sleep 0.01; echo again > %F", "%F", moves},
	{"f=$(mktemp ./tmp.XXXXXX); echo t > $f", "tmp.", 0}, {"echo over > %F", "%F", 0}, {"printf '%N\\n' >> %F", "%F", 0}, {"> %F", "%F", 0},
	{"mkdir -p deep/%N/er && echo x > deep/%N/er/x", "deep/", 0}, {"rmdir empty", "empty", 0}, {"touch %F new %N.t", "%F new %N.t", 0},
	{"sort -r -o %F %F", "%F", carries}, {"cat > docs/cat%N.md <<'X'\none\ntwo\nX", "docs/cat%N.md", 0},
	{"node -e 'fs.append%FileSync(\"%F\",\"js\\n\")'", "%F", 0}, {"node -e 'fs.rmSync(\"%D\",{recursive:true})'", "%D/", 0},
	{"fallocate -l 300 data/fall.bin", "data/fall.bin", 0}, {"rm -rf nested", "nested/", 0}, {"rm -f data/big.bin", "data/big.bin", 0},
	{"echo x >> data/big.bin", "data/big.bin", 0}, {"rm -rf build", "build/", 0}, {"cat a.txt | grep -c 1; ls -R > /dev/null", "", 0},
	{"cp -r nested nested2", "nested2/", carries}, {"for i in $(seq 60); do echo $i > d/s$i.txt; done", "d/", 0}, {"touch -d yesterday %F", "%F", 0},
	{"mv d x; mkdir d; mv x/e d/e; rm -rf x", "d/ x/", moves}, {"mv a.txt t; mv b.txt a.txt; mv t b.txt", "a.txt b.txt t", moves},
	{"ln -sfn docs link2; echo via >> link2/1.md", "link2 docs/1.md", 0}, {"unlink %F", "%F", 0}, {"shred -u %F", "/", moves},
	{"exit 3", "", 0}, {"echo gone > %F; false", "%F", 0},
}

// files and directories that the commands work on, and the writer, too.
var (
	someFiles = strings.Fields("a.txt b.txt c.txt docs/1.md docs/2.md docs/3.md src/util.c data/x.csv d/1.txt d/2.txt " +
		"d/e/3.txt d/e/4.txt run.sh build/o1.txt nested/n.txt h1")
	someDirs = strings.Fields("docs d d/e data nested build src")
)

// command is a recipe with names put in.
type command struct {
	text    string
	touches []string
	trait   trait
}

// cook picks a recipe whose program is there.
func cook(r *rand.Rand) command {
	for {
		c := recipes[r.IntN(len(recipes))]
		if c.trait&slow != 0 && (os.Getenv("KERF_LONG") == "" || r.IntN(10) > 0) {
			continue
		}
		if program, _, _ := strings.Cut(c.text, " "); program != "" && strings.ToLower(program) == program &&
			!there(program) {
			continue
		}
		file, dir := someFiles[r.IntN(len(someFiles))], someDirs[r.IntN(len(someDirs))]
		return c.with(file, dir, r.IntN(900)+100)
	}
}

// with puts names and a number into a recipe.
func (c recipe) with(file, dir string, n int) command {
	fill := strings.NewReplacer("%F", file, "%D", dir, "%N", fmt.Sprint(n)).Replace
	c2 := command{text: fill(c.text), trait: c.trait, touches: strings.Fields(fill(c.touches))}
	for i, t := range c2.touches {
		if t == "./" { // beside the file, under a name of the program's own
			c2.touches[i] = filepath.Dir(file) + "/"
			c2.touches = append(c2.touches, "sed", "a.txt", "b.txt", "c.txt", "link", "cl")
		}
	}
	return c2
}

// steady are commands that add to one file each, whatever else is in it: no line of others becomes
// another one.
var steady = []recipe{{"printf '%N\\n' >> %F", "%F", 0}, {"echo more >> %F", "%F", 0}, {"chmod +x %F", "%F", 0},
	{"python3 -c 'open(\"%F\",\"a\").write(\"py%N\\n\")'", "%F", 0}}

// cookSteadily picks some of steady for one file: the writer changes it between two of them.
func cookSteadily(r *rand.Rand) (calls []command) {
	file := someFiles[r.IntN(len(someFiles))]
	for range 2 + r.IntN(3) {
		calls = append(calls, steady[r.IntN(len(steady))].with(file, "", r.IntN(900)+100))
		if r.IntN(2) == 0 {
			calls = append(calls, recipe{text: "sleep 0.05"}.with(file, "", 0))
		}
	}
	return calls
}

// there reports whether bash would find a program.
func there(program string) bool {
	switch program {
	case "for", "(for", "(sleep", "exit", "cd", "printf", "echo", ">", "f=$(mktemp":
		return true
	}
	_, err := exec.LookPath(program)
	return err == nil
}

// may reports whether a command may change a path.
func (c command) may(path string) bool {
	if path == "h1" || path == "h2" { // one file
		path = "h1"
	}
	for _, t := range c.touches {
		switch dir, isDir := strings.CutSuffix(t, "/"); {
		case t == "/" || isDir && (path == dir || strings.HasPrefix(path, dir+"/") || dir == "."):
			return true
		case !isDir && (path == t || strings.HasPrefix(path, t) && strings.HasSuffix(t, ".")):
			return true
		case !isDir && (strings.HasPrefix(t, "part") || t == "sed" || t == "cl") && strings.Contains(filepath.Base(path), t):
			return true
		}
	}
	return false
}

// makeBase makes the tree that the histories start with.
func makeBase(p *place) error {
	files := map[string]string{
		".gitignore": "build/\n*.o\n", "build/o1.txt": numbers(5), "nested/n.txt": numbers(10), "empty/": "",
		"run.sh": "#!/bin/sh\necho hello\n", "h1": numbers(8), "package.json": "{\n  \"name\": \"x\",\n  \"version\": \"1.0.0\"\n}\n",
		"go/go.mod": "module x\n\ngo 1.21\n", "go/main.go": "package main\nfunc main( ) {\nprintln(1)\n}\n",
		"src/main.c": "int util(void);\nint main(void) { return util(); }\n", "src/util.c": "int util(void)\n{\n\treturn 0;\n}\n",
		"src/Makefile": "prog: main.o util.o\n\tcc -o $@ $^\nclean:\n\trm -f *.o prog\n",
		"data/x.csv":   strings.ReplaceAll(numbers(30), "\n", ",x\n"), "data/y.bin": strings.Repeat("\x00\xff\n\x01", 5000),
		"data/big.bin": strings.Repeat("0123456789abcde\n", 60_000),
	}
	for _, f := range strings.Fields("a.txt b.txt c.txt docs/1.md docs/2.md docs/3.md docs/4.md d/1.txt d/2.txt d/e/3.txt d/e/4.txt") {
		files[f] = strings.ReplaceAll(numbers(40), "\n", " "+f+"\n")
	}
	if err := put(p.dir, files); err != nil {
		return err
	}
	r := p.shell(`set -e
chmod +x run.sh; ln h1 h2; ln -s a.txt link
git init -qb main; git config user.name U; git config user.email u@localhost; git config gc.auto 0
(cd nested; git init -qb main; git config user.name U; git config user.email u@localhost; git add -A; git commit -qm n)
sed -i '20s/.*/patched/' c.txt; git add -A . ':!nested' 2>/dev/null; git diff --no-index --output=fix.patch /dev/null /dev/null || true
git commit -qm one
sed -i '20s/.*/changed/' c.txt; git diff -R > fix.patch; git commit -qam two
git checkout -qb other HEAD~1
sed -i '5s/.*/other/' docs/1.md; echo o > docs/other.md; git rm -q docs/4.md; sed -i '1s/.*/other/' b.txt
git add -A docs b.txt; git commit -qm other; git checkout -q main`)
	if r.code != 0 {
		return fmt.Errorf("base: %v", r)
	}
	return nil
}

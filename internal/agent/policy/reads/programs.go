package reads

import (
	"slices"
	"strings"

	"kerf/internal/agent/policy/starts"
)

// named are programs with one grammar.
type named struct {
	names string // as starts.Among has them
	form  form
}

// formOf finds the grammar of a program.
func formOf(list []named, name string) (form, bool) {
	for i := range list {
		if starts.Among(list[i].names, name) {
			return list[i].form, true
		}
	}
	return form{}, false
}

// forms are the programs with a grammar.
var forms = []named{
	// These are without any option that writes, runs a program or connects, by their manuals
	// (GNU coreutils and grep, util-linux, procps, and those of BSD).
	{" cat cd cut echo expr false grep egrep fgrep head id ls nl numfmt paste pwd rev seq sleep stat" +
		" tail tr true uname wc which whoami : basename dirname realpath readlink df du free uptime nproc" +
		" groups tty md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum sum md5 cmp comm" +
		" join fold fmt expand unexpand column hexdump od type locale factor tsort pr cal jq vdir dir ", form{free: true}},

	// base64 -o of some systems writes, as do iconv -o and shuf -o.
	{" base64 ", form{flags: "dDi", valued: "w", long: "decode ignore-garbage wrap="}},
	{" base32 ", form{flags: "di", valued: "w", long: "decode ignore-garbage wrap="}},
	{" iconv ", form{flags: "cls", valued: "ft", long: "from-code= to-code= list silent"}},
	{" shuf ", form{flags: "erz", valued: "in", long: "echo repeat zero-terminated input-range= head-count="}},
	// zcat and zgrep hand their options to gzip and grep.
	{" zcat ", form{flags: "q"}},
	{" zgrep ", form{flags: "cEFhHilnoqsvwx", valued: "ABCem", digits: true}},
	// tree -o and -R write.
	{" tree ", form{flags: "adfilxpsughDFqNQrtUcvCASJXn", valued: "LPIH", long: "noreport dirsfirst prune filelimit= " +
		"du si inodes " +
		"device gitignore matchdirs ignore-case sort="}},
	// fd -x and -X start programs, -l starts ls.
	{" fd fdfind ", fd},
	// rg --pre, --hostname-bin and -z start programs.
	{" rg ", form{flags: "abcFhHiIlLnNoPpqSsuUvVwx0.", valued: "ABCdeEfgjMmrtT", long: rgLong}},
	// sort -o writes, -T and -S decide about temporary files, --compress-program starts one.
	{" sort ", form{flags: "bcCdfghimMnRrsuVz", valued: "kt", long: "ignore-leading-blanks dictionary-order ignore-case " +
		"general-numeric-sort human-numeric-sort ignore-nonprinting month-sort numeric-sort random-sort " +
		"reverse sort= " +
		"version-sort check? key= merge stable field-separator= unique zero-terminated parallel= debug"}},
	// diff -l starts pr.
	{" diff ", form{flags: "abBcdeEfHiNnpPqrstTuwyZ", valued: "CDFILSUWx", long: "normal brief " +
		"report-identical-files context? " +
		"unified? ed rcs side-by-side width= left-column suppress-common-lines show-c-function " +
		"show-function-line= label= " +
		"expand-tabs initial-tab tabsize= suppress-blank-empty recursive no-dereference new-file " +
		"unidirectional-new-file " +
		"ignore-file-name-case exclude= exclude-from= starting-file= from-file= to-file= ignore-case " +
		"ignore-tab-expansion " +
		"ignore-trailing-space ignore-space-change ignore-all-space ignore-blank-lines ignore-matching-lines= " +
		"text " +
		"strip-trailing-cr minimal speed-large-files color? horizon-lines=", digits: true}},
	{" diff3 ", form{flags: "AaeEimTxX3"}},
	// Options of binutils load plugins, follow links to other machines (debuginfod), and
	// @FILE names a file of options.
	{" nm ", form{flags: "aABCDgnoprSsuvP", long: "defined-only undefined-only extern-only dynamic demangle " +
		"no-demangle size-sort numeric-sort", bare: true}},
	{" objdump ", form{flags: "afhpxdDrRtTswzC", valued: "jM", long: "file-headers section-headers disassemble reloc " +
		"syms dynamic-syms no-show-raw-insn demangle", bare: true}},
	{" readelf ", form{flags: "hlSgtesdnruVAcDIWa", long: "file-header program-headers section-headers sections " +
		"symbols dyn-syms notes relocs dynamic version-info arch-specific headers wide", bare: true}},
	{" size ", form{flags: "ABdoxtG", bare: true}},
	{" strings ", form{flags: "afow", valued: "ntesU", long: "all bytes= radix= encoding=", digits: true, bare: true}},
	// file -C writes, -m reads code of its own, -z starts programs, -p sets times.
	{" file ", form{flags: "bihLkNnrv", long: "brief mime mime-type mime-encoding no-dereference dereference " +
		"keep-going no-pad raw"}},
	// A second operand of uniq and xxd is written.
	{" uniq ", form{flags: "cdDiuz", valued: "fsw", long: "count repeated all-repeated? skip-fields= group? ignore-case " +
		"skip-chars= unique zero-terminated check-chars=", operands: 1, ordered: true}},
	{" xxd ", form{flags: "abeEipuC", valued: "cglnos", operands: 1, ordered: true}},
	// Addresses of hosts are asked of other machines.
	{" hostname ", form{flags: "s", long: "short", operands: -1}},
	{" sw_vers ", form{operands: -1}},
	{" arch ", form{operands: -1}},
	{" gofmt ", form{flags: "ldse"}},
}

var fd = form{flags: "HIusigFapL01", valued: "etdEcSoj", long: "hidden no-ignore case-sensitive ignore-case " +
	"glob regex fixed-strings absolute-path follow full-path print0 max-depth= min-depth= exact-depth= " +
	"type= extension= exclude= size= changed-within= changed-before= color= max-results= no-ignore-vcs"}

const rgLong = "after-context= before-context= context= color= colors= column no-column count count-matches " +
	"crlf debug encoding= " +
	"regexp= file= files files-with-matches files-without-match fixed-strings follow glob= " +
	"glob-case-insensitive heading " +
	"no-heading hidden iglob= ignore-case ignore-file= include-zero invert-match json line-buffered " +
	"line-number no-line-number " +
	"line-regexp max-columns= max-columns-preview max-count= max-depth= max-filesize= mmap multiline " +
	"multiline-dotall no-config " +
	"no-ignore no-ignore-dot no-ignore-exclude no-ignore-files no-ignore-global no-ignore-parent " +
	"no-ignore-vcs no-messages " +
	"null null-data one-file-system only-matching passthru path-separator= pcre2 pretty quiet replace= " +
	"smart-case sort= sortr= " +
	"stats stop-on-nonmatch text threads= trim trace type= type-not= type-list unrestricted vimgrep " +
	"with-filename no-filename " +
	"word-regexp case-sensitive no-hidden auto-hybrid-regex engine= binary"

// checks are the programs that need a look of their own.
var checks = map[string]func([]string) bool{
	"find": finds, "date": safeDate, "sed": safeSed, "awk": safeAwk, "gawk": safeAwk, "mawk": safeAwk,
	"git": safeGit,
	"go":  safeGo, "printf": safePrintf,
	// What tac reads from a pipe it writes to a temporary file first.
	"tac": func(args []string) bool {
		return slices.ContainsFunc(args, func(a string) bool { return !strings.HasPrefix(a, "-") })
	},
	// getconf -v starts a program of the given name.
	"getconf": func(args []string) bool {
		return len(args) <= 2 && !slices.ContainsFunc(args, func(a string) bool {
			return strings.HasPrefix(a,
				"-") && a != "-a"
		})
	},
	"ps":   words("-e", "-f", "-ef", "aux", "-A", "-ax", "-u", "-l", "ax"),
	"test": tests, "[": tests,
	"command": func(args []string) bool { return len(args) == 2 && (args[0] == "-v" || args[0] == "-V") },
	"tar": func(args []string) bool {
		return len(args) == 2 && slices.Contains([]string{"tf", "-tf", "tvf", "-tvf", "tzf", "-tzf", "tjf",
			"-tjf", "tzvf",
			"-tzvf"}, args[0]) && !strings.Contains(args[1], ":")
	},
	"unzip": func(args []string) bool { return len(args) == 2 && args[0] == "-l" && !strings.HasPrefix(args[1], "-") },
}

// finds admits the tests of find and the actions that print.
func finds(args []string) bool {
	for _, a := range args {
		if !strings.HasPrefix(a, "-") || len(a) == 1 || strings.Trim(a[1:], "0123456789ckMGb") == "" {
			continue
		}
		if !has("-H -L -P -O0 -O1 -O2 -O3 -a -and -o -or -not -amin -anewer -atime -cmin -cnewer -ctime "+
			"-daystart -depth -d -empty "+
			"-executable -false -follow -fstype -gid -group -ilname -iname -inum -ipath -iregex -iwholename "+
			"-links -lname -ls "+
			"-maxdepth -mindepth -mmin -mount -mtime -name -newer -newerXY -newermt -newerct -newerat "+
			"-nogroup -noleaf -nouser "+
			"-path -perm -print -print0 -printf -prune -quit -readable -regex -regextype -samefile -size "+
			"-true -type -uid -used "+
			"-user -warn -nowarn -wholename -writable -x -xdev -xtype -E -s", a) {
			return false
		}
	}
	return true
}

// tests admits all but the names of variables, whose subscripts are run.
func tests(args []string) bool {
	return !slices.ContainsFunc(args, func(a string) bool { return a == "-v" || a == "-R" })
}

// safePrintf admits formats that print: %n assigns a variable, and PATH is one.
func safePrintf(args []string) bool {
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		return false
	}
	format := args[0]
	for i := 0; i < len(format); i++ {
		if format[i] == '\\' {
			// A byte written by its number may be a per cent sign for some shells.
			if i++; i < len(format) && strings.IndexByte("abefnrtv\\'\"", format[i]) < 0 {
				return false
			}
			continue
		}
		if format[i] != '%' {
			continue
		}
		for i++; i < len(format) && strings.IndexByte("-+ #0123456789.*'", format[i]) >= 0; i++ {
		}
		if i >= len(format) || strings.IndexByte("diouxXeEfFgGaAcsbq%", format[i]) < 0 {
			return false
		}
	}
	return true
}

// safeGo admits the questions that no setting of a module has answered by another
// program. All of go env at once tries the C compiler, and go doc builds lists of
// packages.
func safeGo(args []string) bool {
	switch {
	case len(args) == 1 && args[0] == "version":
		return true
	case len(args) > 1 && args[0] == "env":
		return !slices.ContainsFunc(args[1:], func(a string) bool {
			return strings.HasPrefix(a, "-") && a != "-json" || strings.HasPrefix(a, "CGO_") || a == "GOGCCFLAGS" ||
				a == "PKG_CONFIG" || a == "CC" || a == "CXX" || a == "-json" && len(args) == 2
		})
	}
	return false
}

func safeDate(args []string) bool {
	for i := 0; i < len(args); i++ {
		switch a := args[i]; {
		case strings.HasPrefix(a, "+"), a == "-u", a == "--utc", a == "-R", strings.HasPrefix(a, "-I"),
			strings.HasPrefix(a, "--iso-8601"),
			strings.HasPrefix(a, "--rfc-3339="), strings.HasPrefix(a, "--date="):
		case a == "-d" || a == "-r":
			i++
		default:
			return false
		}
	}
	return true
}

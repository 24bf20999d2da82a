package syntax

import (
	"strings"
	"sync"
)

// language says how a language is written.
type language struct {
	line     []string    // marks that begin a comment up to the end of the line
	block    [][2]string // marks around comments
	long     []string    // quotes of strings that may span lines
	quotes   string      // quotes of strings that do not
	keywords map[string]bool
	types    map[string]bool
	escapes  bool // backslashes count inside backquotes too
	fold     bool // keywords in any case
	keys     bool // names before ":" or "=" matter, calls do not
	dash     bool // names may have dashes
	diff     bool
}

var (
	slashes = []string{"//"}
	hash    = []string{"#"}
	stars   = [][2]string{{"/*", "*/"}}
	triple  = []string{`"""`, `'''`}
)

// find returns the language of a name or file ending.
func find(name string) *language { return table()[name] }

// table is made when the first text is coloured.
var table = sync.OnceValue(func() map[string]*language {
	m := map[string]*language{}
	add := func(names string, l language, keywords, types string) {
		l.keywords, l.types = set(keywords), set(types)
		for _, n := range strings.Fields(names) {
			m[n] = &l
		}
	}
	programs(add)
	scripts(add)
	data(add)
	return m
})

func set(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}

type adder func(names string, l language, keywords, types string)

func programs(add adder) {
	c := language{line: slashes, block: stars, quotes: `"'`}
	add("go golang", language{line: slashes, block: stars, long: []string{"`"}, quotes: `"'`},
		`break case chan const continue default defer else fallthrough for func go goto if import interface map package
			range return select struct switch type var nil true false iota`,
		`any bool byte comparable complex64 complex128 error float32 float64 int int8 int16 int32 int64 rune string uint
			uint8 uint16 uint32 uint64 uintptr`)
	add("c h", c, `auto break case const continue default do else enum extern for goto if inline register restrict return sizeof
			static struct switch typedef union volatile while NULL true false`,
		`char double float int long short signed unsigned void bool size_t ssize_t int8_t int16_t int32_t int64_t uint8_t
			uint16_t uint32_t uint64_t`)
	add("c++ cpp cc cxx hpp hh", c, `alignas auto break case catch class const constexpr consteval continue co_await co_return co_yield concept
			default delete do else enum explicit export extern final for friend goto if inline mutable namespace new
			noexcept nullptr operator override private protected public requires return sizeof static static_cast struct
			switch template this throw try typedef typename union using virtual volatile while true false`,
		"bool char double float int long short signed unsigned void size_t string vector map unique_ptr shared_ptr")
	add("rust rs", language{line: slashes, block: stars, long: []string{`"`}, quotes: ""},
		`as async await break const continue crate dyn else enum extern fn for if impl in let loop match mod move mut pub
			ref return self Self static struct super trait type unsafe use where while true false`,
		"bool char f32 f64 i8 i16 i32 i64 i128 isize str u8 u16 u32 u64 u128 usize String Vec Option Result Box")
	add("java", c, `abstract assert break case catch class const continue default do else enum extends final finally for goto if
			implements import instanceof interface native new package private protected public record return sealed static
			strictfp super switch synchronized this throw throws transient try var void volatile while yield true false null`,
		"boolean byte char double float int long short String Integer List Map Object")
	add("kotlin kt kts", language{line: slashes, block: stars, long: []string{`"""`}, quotes: `"'`},
		`as break by catch class companion const continue data do else enum false finally for fun if import in interface
			internal is lateinit null object open override package private protected public return sealed super suspend this
			throw true try typealias val var when while`,
		"Any Boolean Byte Char Double Float Int List Long Map Set Short String Unit")
	add("swift", language{line: slashes, block: stars, long: []string{`"""`}, quotes: `"`},
		`as async await break case catch class continue default defer do else enum extension fallthrough false
			fileprivate for func guard if import in init inout internal is let nil open private protocol public repeat
			return self static struct super switch throw throws true try typealias var where while`,
		"Any Bool Character Double Float Int String Void")
	add("cs csharp", c, `abstract as async await base break case catch class const continue default delegate do else enum event explicit
			extern false finally fixed for foreach get goto if implicit in interface internal is lock namespace new null
			operator out override params private protected public readonly record ref return sealed set sizeof static struct
			switch this throw true try typeof unchecked unsafe using var virtual void volatile while yield`,
		"bool byte char decimal double float int long object sbyte short string uint ulong ushort")
	add("proto protobuf", c, `enum extend extensions import map message oneof option optional package public repeated required reserved
			returns rpc service stream syntax true false`,
		"bool bytes double fixed32 fixed64 float int32 int64 sint32 sint64 string uint32 uint64")
	add("zig", language{line: slashes, quotes: `"'`},
		`align and break catch comptime const continue defer else enum errdefer error export extern false fn for if
			inline null or orelse pub return struct switch test true try undefined union unreachable usingnamespace var
			while`,
		"bool f32 f64 i32 i64 isize type u8 u16 u32 u64 usize void")
}

func scripts(add adder) {
	add("python py pyi", language{line: hash, long: triple, quotes: `"'`},
		`and as assert async await break case class continue def del elif else except finally for from global if import
			in is lambda match nonlocal not or pass raise return try while with yield True False None self`,
		"bool bytes dict float int list object set str tuple")
	js := language{line: slashes, block: stars, long: []string{"`"}, quotes: `"'`, escapes: true}
	words := `as async await break case catch class const continue debugger default delete do else export extends false
			finally for from function get if import in instanceof let new null of return set static super switch this throw
			true try typeof undefined var void while with yield`
	add("javascript js jsx mjs cjs", js, words, "Array Map Object Promise Set String")
	add("typescript ts tsx mts cts", js, words+
		` abstract declare enum implements interface is keyof namespace private protected public readonly satisfies type`,
		`any boolean never number object string unknown void Array Map Promise Record Set`)
	add("bash sh shell zsh console ksh", language{line: hash, long: nil, quotes: `"'`, dash: true},
		`case do done elif else esac export fi for function if in local readonly return select set shift source then trap
			unset until while`, "")
	add("ruby rb", language{line: hash, quotes: `"'`},
		`alias and begin break case class def defined do else elsif end ensure false for if in module next nil not or
			redo require rescue retry return self super then true undef unless until when while yield attr_reader
			attr_accessor`, "")
	add("php", language{line: []string{"//", "#"}, block: stars, quotes: `"'`},
		`abstract and array as break case catch class clone const continue declare default do echo else elseif extends
			final finally fn for foreach function global if implements instanceof interface match namespace new null or
			private protected public readonly require return static switch throw trait true false try use var while yield`,
		"bool float int mixed string void")
	add("lua", language{line: []string{"--"}, quotes: `"'`},
		`and break do else elseif end false for function goto if in local nil not or repeat return then true until while`, "")
	add("sql psql mysql sqlite", language{line: []string{"--"}, block: stars, quotes: `"'`, fold: true},
		`add all alter and as asc begin between by case check column commit constraint create cross default delete desc
			distinct drop else end exists explain foreign from full group having if in index inner insert into is join key
			left like limit not null offset on or order outer primary references replace returning right rollback select set
			table then transaction union unique update using values view when where with`,
		`bigint blob boolean char date decimal double float int integer json jsonb numeric real serial smallint text time
			timestamp uuid varchar`)
	add("make makefile mk", language{line: hash, quotes: `"'`, dash: true},
		`define else endef endif export ifdef ifeq ifndef ifneq include override unexport`, "")
	add("docker dockerfile", language{line: hash, quotes: `"'`, fold: true},
		`add arg cmd copy entrypoint env expose from healthcheck label onbuild run shell stopsignal user volume workdir
			as`, "")
	add("powershell ps1", language{line: hash, block: [][2]string{{"<#", "#>"}}, quotes: `"'`, fold: true, dash: true},
		`begin break catch class continue do else elseif end exit filter finally for foreach function if in param process
			return switch throw trap try until while`, "")
}

func data(add adder) {
	add("json jsonc json5 jsonl", language{line: slashes, block: stars, quotes: `"`, keys: true}, "true false null", "")
	add("yaml yml", language{line: hash, quotes: `"'`, keys: true, dash: true}, "true false null yes no on off", "")
	add("toml ini conf cfg properties",
		language{line: []string{"#", ";"}, long: triple, quotes: `"'`, keys: true, dash: true}, "true false", "")
	add("tf hcl terraform", language{line: []string{"#", "//"}, block: stars, quotes: `"`, keys: true, dash: true},
		`data dynamic for in if locals module output provider resource terraform variable true false null`, "")
	add("html xml svg vue xhtml", language{block: [][2]string{{"<!--", "-->"}}, quotes: `"`, keys: true, dash: true}, "",
		"")
	add("css scss less", language{block: stars, line: slashes, quotes: `"'`, keys: true, dash: true},
		"important media import keyframes supports", "")
	add("graphql gql", language{line: hash, long: []string{`"""`}, quotes: `"`},
		`enum extend fragment implements input interface mutation on query scalar schema subscription type union true
			false null`, "Boolean Float ID Int String")
	add("diff patch", language{diff: true}, "", "")
}

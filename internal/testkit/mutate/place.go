package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strconv"
)

// place is one change of a file: the bytes from one offset to another become new.
type place struct {
	file         string
	line, column int // from 1
	// reach is the line by which tests are chosen: that of its switch for the condition of a
	// case, which tests meet that do not enter the case.
	reach    int
	from, to int
	old, new string
	text     []byte
}

func (p place) apply() []byte {
	return slices.Concat(p.text[:p.from], []byte(p.new), p.text[p.to:])
}

// swaps are the operators that take each other's places.
var swaps = map[token.Token]string{
	token.EQL: "!=", token.NEQ: "==", token.LSS: "<=", token.LEQ: "<", token.GTR: ">=", token.GEQ: ">",
	token.LAND: "||", token.LOR: "&&", token.ADD: "-", token.SUB: "+", token.MUL: "+", token.QUO: "*",
	token.AND: "|", token.OR: "&", token.INC: "--", token.DEC: "++",
}

// finder gathers the places of one file.
type finder struct {
	set        *token.FileSet
	file       string
	text       []byte
	list       []place
	conditions []condition
}

// condition is one of a case, with the line of its switch.
type condition struct {
	from, to token.Pos
	line     int
}

// places are all changes of a file that are tried: another operator, a condition that is
// not negated, a call or the setting of a field that is left out, an error that is swallowed,
// a number one higher, a branch that is always or never taken.
func places(file string) ([]place, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	f := &finder{set: token.NewFileSet(), file: file, text: text}
	tree, err := parser.ParseFile(f.set, file, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	for _, d := range tree.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
			ast.Inspect(fn.Body, f.node)
		}
	}
	return f.list, nil
}

func (f *finder) node(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.SwitchStmt:
		for _, clause := range n.Body.List {
			if c, ok := clause.(*ast.CaseClause); ok {
				for _, e := range c.List {
					f.conditions = append(f.conditions, condition{e.Pos(), e.End(), f.set.Position(n.Pos()).Line})
				}
			}
		}
	case *ast.BinaryExpr:
		f.token(n.OpPos, n.Op)
	case *ast.IncDecStmt:
		f.token(n.TokPos, n.Tok)
	case *ast.UnaryExpr:
		if n.Op == token.NOT {
			f.change(n.OpPos, n.OpPos+1, "")
		}
	case *ast.ExprStmt:
		if _, ok := n.X.(*ast.CallExpr); ok {
			f.change(n.Pos(), n.End(), "")
		}
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE && kept(n.Lhs) {
			f.change(n.Pos(), n.End(), "")
		}
	case *ast.DeferStmt:
		f.change(n.Pos(), n.End(), "")
	case *ast.IfStmt:
		f.change(n.Cond.Pos(), n.Cond.End(), "("+f.at(n.Cond)+") && false")
		f.change(n.Cond.Pos(), n.Cond.End(), "("+f.at(n.Cond)+") || true")
	case *ast.ReturnStmt:
		f.swallow(n)
	case *ast.BasicLit:
		if i, err := strconv.ParseInt(n.Value, 0, 64); n.Kind == token.INT && err == nil {
			f.change(n.Pos(), n.End(), strconv.FormatInt(i+1, 10))
		}
	}
	return true
}

// kept tells of an assignment that it goes to a field or into a map or list, and so outlives
// the function more often than one to a variable.
func kept(to []ast.Expr) bool {
	switch to[0].(type) {
	case *ast.SelectorExpr, *ast.IndexExpr, *ast.StarExpr:
		return true
	}
	return false
}

func (f *finder) at(n ast.Node) string {
	return string(f.text[f.set.Position(n.Pos()).Offset:f.set.Position(n.End()).Offset])
}

func (f *finder) token(at token.Pos, op token.Token) {
	if other, ok := swaps[op]; ok {
		f.change(at, at+token.Pos(len(op.String())), other)
	}
}

// swallow returns nil in the place of an error.
func (f *finder) swallow(n *ast.ReturnStmt) {
	if len(n.Results) == 0 {
		return
	}
	last := n.Results[len(n.Results)-1]
	switch e := last.(type) {
	case *ast.Ident:
		if e.Name == "err" {
			f.change(e.Pos(), e.End(), "nil")
		}
	case *ast.CallExpr:
		if name := f.at(e.Fun); name == "fmt.Errorf" || name == "errors.New" || name == "errors.Join" {
			f.change(e.Pos(), e.End(), "nil")
		}
	}
}

func (f *finder) change(from, to token.Pos, new string) {
	at := f.set.Position(from)
	end := f.set.Position(to).Offset
	reach := at.Line
	for _, c := range f.conditions {
		if c.from <= from && to <= c.to {
			reach = c.line
		}
	}
	f.list = append(f.list, place{f.file, at.Line, at.Column, reach, at.Offset, end, string(f.text[at.Offset:end]), new, f.text})
}

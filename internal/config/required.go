package config

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"kerf/internal/config/document"
	"kerf/internal/config/schema"
)

// requirementsFile is what the administrator of a machine requires, beside the system file.
const requirementsFile = "requirements.toml"

// Required is what the administrator of the machine requires of sessions. The zero value
// requires nothing.
type Required struct {
	// SandboxModes and ApprovalPolicies are those that a session may have; nil allows all.
	SandboxModes     []string `key:"allowed_sandbox_modes"`
	ApprovalPolicies []string `key:"allowed_approval_policies"`
	// From says by key where it is required: "FILE:LINE".
	From map[string]string
}

// Refuse says why a session may not have a sandbox mode or an approval policy; empty if it may.
func (r Required) Refuse(sandbox, approval string) string {
	refuse := func(allowed []string, key, what, value string) string {
		if allowed == nil || value == "" || slices.Contains(allowed, value) {
			return ""
		}
		return what + " " + value + " is not allowed on this machine: " + r.From[key] + " allows " +
			strings.Join(allowed, ", ")
	}
	if why := refuse(r.SandboxModes, "allowed_sandbox_modes", "the sandbox mode", sandbox); why != "" {
		return why
	}
	return refuse(r.ApprovalPolicies, "allowed_approval_policies", "the approval policy", approval)
}

// Modes are the sandbox mode and the approval policy of a session that asks for some, or for
// none. What nobody chose is one that is required, in a trusted directory one that can write.
func (c *Config) Modes(sandbox, approval string) (string, string) {
	if sandbox = cmp.Or(sandbox, c.SandboxMode); sandbox == "" {
		sandbox = "read-only"
		if c.Trust(c.Root) == Trusted {
			sandbox = "workspace-write"
		}
		sandbox = fit(c.Required.SandboxModes, sandbox)
	}
	if approval == "" {
		if approval = c.ApprovalPolicy; c.Origin("approval_policy") == fromDefault {
			approval = fit(c.Required.ApprovalPolicies, approval)
		}
	}
	return sandbox, cmp.Or(approval, "on-request")
}

// InTry is the sandbox mode of a session in a try that asks for none; empty where the user has
// chosen one, or does not trust the directory. Nothing of the directory changes until the try is
// kept, so a session may write there also where nothing was decided about it.
func (c *Config) InTry() string {
	if trust := c.Trust(c.Root); c.SandboxMode != "" || trust == Untrusted {
		return ""
	}
	return fit(c.Required.SandboxModes, "workspace-write")
}

// fit is a value where it is allowed, and else the first that is.
func fit(allowed []string, value string) string {
	if allowed == nil || slices.Contains(allowed, value) {
		return value
	}
	return allowed[0]
}

// require reads what is required and lays what it enforces over all layers.
func (l *loader) require(system string) (Required, error) {
	file := l.o.Requirements
	if file == "" {
		file = filepath.Join(filepath.Dir(system), requirementsFile)
	}
	v, err := document.ReadFile(file)
	if err != nil || v == nil {
		return Required{}, err
	}
	enforced := v.Table["enforced"]
	r := Required{From: map[string]string{}}
	rest := &document.Value{Table: without(v.Table, "enforced"), From: v.From}
	if err := (&schema.Decoder{}).Decode(&r, rest); err != nil {
		return Required{}, err
	}
	if err := errors.Join(r.knows(v, "allowed_sandbox_modes", "sandbox_mode", r.SandboxModes),
		r.knows(v, "allowed_approval_policies", "approval_policy", r.ApprovalPolicies)); err != nil {
		return Required{}, err
	}
	if enforced == nil {
		return r, nil
	}
	if enforced.Table == nil {
		return Required{}, enforced.From.Fault("enforced", "enforced: expected a table, found "+enforced.Kind())
	}
	if err := l.check(enforced, nil); err != nil {
		return Required{}, err
	}
	l.overruled(l.tree, enforced, nil)
	l.tree = enforce(l.tree, enforced, reflect.TypeFor[Config]())
	return r, nil
}

// knows checks the list under a name: what is allowed for a key of the configuration.
func (r Required) knows(v *document.Value, name, key string, list []string) error {
	at := v.Table[name]
	if at == nil {
		return nil
	}
	r.From[name] = at.From.String()
	if len(list) == 0 {
		return at.From.Fault(name, name+": expected at least one, found none")
	}
	for _, mode := range list {
		one := document.NewTable(at.From)
		one.Put(&document.Value{Leaf: mode, From: at.From}, key)
		var scratch Config
		if err := (&schema.Decoder{}).Decode(&scratch, one); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// overruled warns of what was set otherwise than is enforced.
func (l *loader) overruled(have, enforced *document.Value, path []string) {
	if enforced.Table == nil {
		if have != nil && have.From.File != fromDefault && !reflect.DeepEqual(have.Plain(), enforced.Plain()) {
			key := document.Key(path...)
			l.warn(have.From, key, key+" has no effect: "+enforced.From.String()+" enforces another value")
		}
		return
	}
	for _, name := range enforced.InOrder() {
		if have != nil && have.Table[name] != nil {
			l.overruled(have.Table[name], enforced.Table[name], append(path[:len(path):len(path)], name))
		}
	}
}

// enforce lays a layer over all others. A table of names that are the user's own, such as
// domains or servers, is replaced whole: nobody can add to it.
func enforce(have, enforced *document.Value, t reflect.Type) *document.Value {
	if have == nil || have.Table == nil || enforced.Table == nil || t == nil || t.Kind() != reflect.Struct {
		return enforced
	}
	out := &document.Value{Table: without(have.Table, ""), From: have.From}
	for _, name := range enforced.InOrder() {
		out.Table[name] = enforce(have.Table[name], enforced.Table[name], fieldOf(t, name))
	}
	return out
}

// fieldOf is the type of the field with a key, nil if there is none.
func fieldOf(t reflect.Type, key string) reflect.Type {
	for i := range t.NumField() {
		if t.Field(i).Tag.Get("key") == key {
			return t.Field(i).Type
		}
	}
	return nil
}

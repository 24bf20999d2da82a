package config

import (
	"reflect"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"

	"kerf/internal/config/schema"
	"kerf/internal/text/order"
)

// JSONSchema is the JSON schema of config.toml, for editors. It comes from the
// tags of Config and admits whatever Load admits; Load also checks what involves
// several keys.
func JSONSchema() *jsonschema.Schema {
	whole := settingsSchema()
	profile := settingsSchema()
	for _, key := range []string{"profile", "projects"} {
		delete(profile.Properties, key)
	}
	profile.PropertyOrder = slices.DeleteFunc(profile.PropertyOrder,
		func(k string) bool { return profile.Properties[k] == nil })
	profile.AdditionalProperties = nil // what a profile may not hold, Load says
	whole.Properties["profiles"] = &jsonschema.Schema{Type: "object", AdditionalProperties: profile}
	whole.PropertyOrder = append(whole.PropertyOrder, "profiles")
	whole.Schema, whole.Title = "https://json-schema.org/draft/2020-12/schema", "Kerf's config.toml"
	return whole
}

// settingsSchema is that of the keys of Config and of the second home of one.
func settingsSchema() *jsonschema.Schema {
	s := schema.JSON(reflect.TypeFor[Config](), foreign())
	s.Properties["web_search"] = s.Properties["tools"].Properties["web_search"].CloneSchemas()
	s.PropertyOrder = order.Insert(s.PropertyOrder, slices.Index(s.PropertyOrder, "projects")+1, "web_search")
	return s
}

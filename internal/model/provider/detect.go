package provider

import "kerf/internal/model/family"

// detect chooses the provider where nobody did: the one that makes the model which the
// user named, or the only one for which there is a key, in the environment or by kerf login.
func (c *Choice) detect() {
	o := c.registry.o
	if !o.Unchosen || o.Found == nil {
		return
	}
	// A model that names its provider says enough.
	if provider, _ := c.split(c.Model); provider != c.Provider {
		return
	}
	if made := family.MakerOf(c.Model); made != "" && made != c.Provider {
		if _, ok := o.Providers[made]; ok {
			c.Provider = made
			return
		}
	}
	if !o.Keyless() {
		return
	}
	found := o.Found()
	if len(found) != 1 {
		return
	}
	for name, variable := range found {
		c.Provider = name
		if !o.ModelNamed && c.Model == o.Model {
			c.Model = family.Usual(name) // the default is another provider's
		}
		why := variable + " is the only key in the environment"
		if variable == "" {
			why = "you are signed in to no other provider"
		}
		c.found = why
		c.warn("using %s: %s; model_provider chooses another", o.Providers[name].Name, why)
	}
}

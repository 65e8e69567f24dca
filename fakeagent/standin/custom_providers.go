package standin

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
)

const (
	customPath      = "/api/v1/custom-model-providers/"
	customOnePath   = customPath + "{provider}/"
	customModelPath = customOnePath + "models/{model}/"
)

// customProviderRoutes are the platform's for the providers that its users add.
func customProviderRoutes() []route {
	on := Platform.on
	return []route{
		on("GET", customPath, (*call).listCustomProviders),
		on("POST", customPath, (*call).addCustomProvider),
		on("PATCH", customOnePath, ofCustomProvider((*call).changeCustomProvider)),
		on("DELETE", customOnePath, ofCustomProvider((*call).deleteCustomProvider)),
		on("POST", customOnePath+"models/", ofCustomProvider((*call).addCustomModel)),
		on("PATCH", customModelPath, ofCustomModel((*call).changeCustomModel)),
		on("DELETE", customModelPath, ofCustomModel((*call).deleteCustomModel)),
	}
}

// customProvider is a provider that a user has added. It is changed as a whole: what is kept is replaced by what has passed all checks.
type customProvider struct {
	UID          string        `json:"uid"`
	Identifier   string        `json:"identifier"`
	DisplayName  string        `json:"display_name"`
	BaseURL      string        `json:"base_url"`
	Auth         customAuth    `json:"auth"`
	DefaultModel string        `json:"default_model"`
	Models       []customModel `json:"models"` // by position
	CreatedBy    string        `json:"created_by_user_uid"`
	CreatedAt    string        `json:"creation_date"`
	UpdatedAt    string        `json:"updated_at"`

	// What nobody is told again:
	apiKey  string
	headers []header
}

// customAuth is what is told of what a provider takes to let one in.
type customAuth struct {
	HasAPIKey   bool     `json:"has_api_key"`
	HeaderNames []string `json:"header_names"`
}

type header struct{ name, value string }

// customModel is a model of a custom provider.
type customModel struct {
	UID string `json:"uid"`
	model
	IsDefault bool           `json:"is_default"`
	Position  int64          `json:"position"`
	Metadata  map[string]any `json:"metadata"`
	CreatedBy string         `json:"created_by_user_uid"`
	CreatedAt string         `json:"creation_date"`
	UpdatedAt string         `json:"updated_at"`
}

// record is what is answered of a provider.
func (p *customProvider) record() customProvider {
	r := *p
	r.DefaultModel, r.Auth = p.defaultModel(), customAuth{p.apiKey != "", []string{}}
	for _, h := range p.headers {
		r.Auth.HeaderNames = append(r.Auth.HeaderNames, h.name)
	}
	return r
}

func (p *customProvider) defaultModel() string {
	return p.Models[slices.IndexFunc(p.Models, func(m customModel) bool { return m.IsDefault })].Model
}

// listed is the provider in the catalog. A key is a matter between it and its user, so that one is always signed in.
func (p *customProvider) listed() *provider {
	models := make([]model, len(p.Models))
	for i, m := range p.Models {
		models[i] = m.model
		if !m.Reasoning {
			models[i].ThinkingLevels = []string{}
		}
	}
	return &provider{p.Identifier, p.DisplayName, []string{}, false, false, true, true, active, p.defaultModel(), models}
}

// ofCustomProvider serves a request about a custom provider that there is, with the server locked.
func ofCustomProvider(serve func(*call, *customProvider) error) func(*call) error {
	return func(c *call) error {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, p := range c.catalog.custom {
			if p.UID == c.vars["provider"] {
				return serve(c, p)
			}
		}
		return refuse(http.StatusNotFound, "There is no such model provider.")
	}
}

// ofCustomModel serves a request about a model that there is; at is its place in its provider.
func ofCustomModel(serve func(c *call, p *customProvider, at int) error) func(*call) error {
	return ofCustomProvider(func(c *call, p *customProvider) error {
		at := slices.IndexFunc(p.Models, func(m customModel) bool { return m.UID == c.vars["model"] })
		if at < 0 {
			return refuse(http.StatusNotFound, "The model provider has no such model.")
		}
		return serve(c, p, at)
	})
}

func (c *call) listCustomProviders() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := []customProvider{}
	for _, p := range c.catalog.custom {
		all = append(all, p.record())
	}
	c.json(http.StatusOK, all)
	return nil
}

// become has a provider be what has passed all checks.
func (c *call) become(p *customProvider, next customProvider) {
	next.UpdatedAt = timeText(time.Now())
	slices.SortFunc(next.Models, func(a, b customModel) int {
		return cmp.Or(cmp.Compare(a.Position, b.Position), cmp.Compare(a.UID, b.UID))
	})
	*p = next
	c.catalog.changes++
}

func (c *call) addCustomProvider() error {
	in, err := c.fields()
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	next := customProvider{CreatedBy: c.whoIs(c.caller()).user, CreatedAt: timeText(time.Now())}
	in.require("identifier", "display_name", "base_url", "models")
	c.readCustomProvider(in, &next)
	in.models(&next.Models)
	if err := in.problem(); err != nil {
		return err
	}
	next.UID = c.nextID(customProviderID)
	for i := range next.Models {
		m := &next.Models[i]
		m.UID, m.CreatedBy, m.CreatedAt, m.UpdatedAt = c.nextID(customModelID), next.CreatedBy, next.CreatedAt, next.CreatedAt
	}
	p := &customProvider{}
	c.catalog.custom = append(c.catalog.custom, p)
	c.become(p, next)
	c.json(http.StatusCreated, p.record())
	return nil
}

func (c *call) changeCustomProvider(p *customProvider) error {
	in, err := c.fields()
	if err != nil {
		return err
	}
	next := *p
	c.readCustomProvider(in, &next)
	if err := in.problem(); err != nil {
		return err
	}
	c.become(p, next)
	c.json(http.StatusOK, p.record())
	return nil
}

func (c *call) deleteCustomProvider(p *customProvider) error {
	c.catalog.custom = slices.DeleteFunc(c.catalog.custom, func(other *customProvider) bool { return other == p })
	c.catalog.changes++
	c.nothing()
	return nil
}

var identifiers = regexp.MustCompile(`^[a-z0-9][a-z0-9-]*$`)

// readCustomProvider reads all of a provider but its models.
func (c *call) readCustomProvider(in *fields, into *customProvider) {
	before := into.Identifier
	in.text("identifier", &into.Identifier)
	switch name := into.Identifier; {
	case name == before:
	case !identifiers.MatchString(name):
		in.refuse("identifier", "Must be of small letters, digits and hyphens, with no hyphen in front.")
	case slices.ContainsFunc(c.catalog.providers(), func(p *provider) bool { return p.Name == name }):
		in.refuse("identifier", "There is a model provider with this identifier already.")
	}
	in.text("display_name", &into.DisplayName)
	old := into.BaseURL
	in.text("base_url", &into.BaseURL)
	if u, err := url.Parse(into.BaseURL); into.BaseURL != old && (err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "") {
		in.refuse("base_url", "Must be an http or https URL.")
	}
	in.secret("api_key", &into.apiKey)
	in.headers(&into.headers)
}

// headers reads the headers of a provider.
func (f *fields) headers(into *[]header) {
	value, there := f.in["headers"]
	if !there {
		return
	}
	list, ok := value.([]any)
	if !ok {
		f.refuse("headers", "Must be a list of headers.")
		return
	}
	all := []header{}
	for i, one := range list {
		var h header
		in, ok := fieldsOf(one)
		in.require("name", "value")
		in.text("name", &h.name)
		in.text("value", &h.value)
		if !ok || in.problem() != nil {
			f.refuse("headers", fmt.Sprintf("Header %d must have a name and a value.", i+1))
		}
		all = append(all, h)
	}
	*into = all
}

// sameModel is what is wrong with a model whose id another one of its provider has.
const sameModel = "The provider has a model with this id already."

// models reads the models of a new provider. What is wrong with them is in one list, which says of each which model it is of.
func (f *fields) models(into *[]customModel) {
	value, there := f.in["models"]
	list, ok := value.([]any)
	switch {
	case !there:
		return
	case !ok:
		f.refuse("models", "Must be a list of models.")
		return
	case len(list) == 0:
		f.refuse("models", "There must be at least one model.")
		return
	}
	all, defaults := []customModel{}, 0
	for i, one := range list {
		m := newCustomModel(int64(i))
		in, ok := fieldsOf(one)
		if !ok {
			f.refuse("models", fmt.Sprintf("Model %d must be an object.", i+1))
			continue
		}
		in.require(neededOfModel...)
		in.model(&m)
		if m.Model != "" && slices.ContainsFunc(all, m.hasIDOf) {
			in.refuse("model", sameModel)
		}
		for _, name := range slices.Sorted(maps.Keys(in.wrong)) {
			f.refuse("models", fmt.Sprintf("Model %d, %s: %s", i+1, name, strings.Join(in.wrong[name].([]string), " ")))
		}
		if m.IsDefault {
			defaults++
		}
		all = append(all, m)
	}
	if defaults != 1 && f.wrong["models"] == nil {
		f.refuse("models", "Exactly one model must be the default.")
	}
	*into = all
}

// neededOfModel is what a new model must have.
var neededOfModel = []string{"model", "display_name", "api", "input", "reasoning"}

// newCustomModel is a model before it is read.
func newCustomModel(position int64) customModel {
	return customModel{model: model{ThinkingLevels: []string{}}, Position: position, Metadata: map[string]any{}}
}

func (m *customModel) hasIDOf(other customModel) bool { return m.Model == other.Model }

// model reads a model.
func (f *fields) model(into *customModel) {
	f.text("model", &into.Model)
	f.text("display_name", &into.DisplayName)
	f.choice("api", &into.API, modelAPIs)
	f.choices("input", &into.Input, modelInputs, 1)
	f.truth("reasoning", &into.Reasoning)
	f.choices("thinking_levels", &into.ThinkingLevels, thinkingLevels, 0)
	f.count("context_window", &into.ContextWindow)
	f.count("max_tokens", &into.MaxTokens)
	f.truth("is_default", &into.IsDefault)
	f.whole("position", &into.Position)
	f.object("metadata", &into.Metadata)
}

func (c *call) addCustomModel(p *customProvider) error {
	in, err := c.fields()
	if err != nil {
		return err
	}
	m := newCustomModel(p.Models[len(p.Models)-1].Position + 1)
	in.require(neededOfModel...)
	in.model(&m)
	if slices.ContainsFunc(p.Models, m.hasIDOf) {
		in.refuse("model", sameModel)
	}
	if err := in.problem(); err != nil {
		return err
	}
	now := timeText(time.Now())
	m.UID, m.CreatedBy, m.CreatedAt, m.UpdatedAt = c.nextID(customModelID), c.whoIs(c.caller()).user, now, now
	c.become(p, p.with(m, len(p.Models)))
	c.json(http.StatusCreated, m)
	return nil
}

func (c *call) changeCustomModel(p *customProvider, at int) error {
	in, err := c.fields()
	if err != nil {
		return err
	}
	m := p.Models[at]
	in.model(&m)
	if p.Models[at].IsDefault && !m.IsDefault {
		in.refuse("is_default", "One model must be the default. Make another one that.")
	}
	if m.Model != p.Models[at].Model && slices.ContainsFunc(p.Models, m.hasIDOf) {
		in.refuse("model", sameModel)
	}
	if err := in.problem(); err != nil {
		return err
	}
	m.UpdatedAt = timeText(time.Now())
	c.become(p, p.with(m, at))
	c.json(http.StatusOK, m)
	return nil
}

func (c *call) deleteCustomModel(p *customProvider, at int) error {
	if p.Models[at].IsDefault {
		return refuse(http.StatusBadRequest, "This model is the default. Make another one that, and then delete this one.")
	}
	next := *p
	next.Models = slices.Delete(slices.Clone(p.Models), at, at+1)
	c.become(p, next)
	c.nothing()
	return nil
}

// with is the provider with a model at a place, which may be the one behind the last. If it is the default, no other one is that any more.
func (p *customProvider) with(m customModel, at int) customProvider {
	next := *p
	next.Models = slices.Clone(p.Models)
	if m.IsDefault {
		for i := range next.Models {
			next.Models[i].IsDefault = false
		}
	}
	if at == len(next.Models) {
		next.Models = append(next.Models, m)
	}
	next.Models[at] = m
	return next
}

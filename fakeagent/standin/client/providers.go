package client

import (
	"context"
	"encoding/json"
	"net/http"
	"time"
)

// Catalog is which model providers there are.
type Catalog struct {
	Version   int        `json:"schema_version" only:"1"`
	Digest    string     `json:"catalog_digest"` // another one after each change
	Providers []Provider `json:"providers"`
}

// Provider is a model provider.
type Provider struct {
	Name            string   `json:"provider"`
	DisplayName     string   `json:"display_name"`
	AuthMethods     []string `json:"auth_methods"`
	SignInAvailable bool     `json:"sign_in_available"`
	Known           bool     `json:"known"` // no user has added it
	Enabled         bool     `json:"enabled"`
	Authenticated   bool     `json:"authenticated"`
	Credential      string   `json:"credential_status" only:"active revoked missing"`
	DefaultModel    string   `json:"default_model"`
	Models          []Model  `json:"models"`
}

// Model is a model of a provider.
type Model struct {
	Name           string   `json:"model"` // such as swift-1
	DisplayName    string   `json:"display_name"`
	API            string   `json:"api" only:"openai-completions openai-responses"`
	Input          []string `json:"input" only:"text image"`
	Reasoning      bool     `json:"reasoning"`
	ThinkingLevels []string `json:"thinking_levels"`
	ContextWindow  *int64   `json:"context_window"` // nil: nobody knows
	MaxTokens      *int64   `json:"max_tokens"`     // likewise
}

// ModelProviders is which model providers there are.
func (c *Client) ModelProviders(ctx context.Context) (all Catalog, err error) {
	_, err = c.ask(ctx, request{route: "GET /api/v1/model-providers/"}, &all)
	return all, err
}

// SignInAttempt is somebody who signs in to a provider.
type SignInAttempt struct {
	UID         string     `json:"uid"`
	Provider    string     `json:"provider"`
	Status      string     `json:"status" only:"pending completed cancelled"`
	NextAction  NextAction `json:"next_action"`
	CreatedAt   time.Time  `json:"created_at"`
	UpdatedAt   time.Time  `json:"updated_at"`
	CompletedAt *time.Time `json:"completed_at"`
	ErrorCode   *string    `json:"error_code"`
}

// NextAction is what the user has to do.
type NextAction struct {
	Type string `json:"type" only:"none"`
}

const attemptPath = "/api/v1/model-provider-sign-in-attempts/"

// ofProvider is a body that names a provider.
type ofProvider struct {
	Provider string `json:"provider"`
}

// SignIn starts to sign in to a provider. If somebody does already, that attempt is in the [Error].
func (c *Client) SignIn(ctx context.Context, provider string) (a SignInAttempt, err error) {
	_, err = c.ask(ctx, request{route: "POST " + attemptPath, body: ofProvider{provider}, ok: []int{http.StatusCreated}}, &a)
	return a, err
}

// SignInAttempt is how far an attempt is.
func (c *Client) SignInAttempt(ctx context.Context, attemptUID string) (a SignInAttempt, err error) {
	_, err = c.ask(ctx, request{route: "GET " + attemptPath + "{attempt}/", vars: []string{attemptUID}}, &a)
	return a, err
}

// CancelSignIn gives an attempt up.
func (c *Client) CancelSignIn(ctx context.Context, attemptUID string) (a SignInAttempt, err error) {
	_, err = c.ask(ctx, request{route: "POST " + attemptPath + "{attempt}/cancel/", vars: []string{attemptUID}}, &a)
	return a, err
}

// Credential is whether one is signed in to a provider.
type Credential struct {
	Provider string `json:"provider"`
	Status   string `json:"credential_status" only:"revoked"`
}

// RevokeCredentials is the contrary of signing in.
func (c *Client) RevokeCredentials(ctx context.Context, provider string) (was Credential, err error) {
	_, err = c.ask(ctx, request{route: "POST /api/v1/model-provider-credentials/revoke/", body: ofProvider{provider}}, &was)
	return was, err
}

// CustomProvider is a model provider that a user has added. Its key and the values of its headers are not told again.
type CustomProvider struct {
	UID          string        `json:"uid"`
	Identifier   string        `json:"identifier"`
	DisplayName  string        `json:"display_name"`
	BaseURL      string        `json:"base_url"`
	Auth         CustomAuth    `json:"auth"`
	DefaultModel string        `json:"default_model"`
	Models       []CustomModel `json:"models"`
	CreatedBy    string        `json:"created_by_user_uid"`
	CreatedAt    time.Time     `json:"creation_date"`
	UpdatedAt    time.Time     `json:"updated_at"`
}

// CustomAuth is what a provider is told to be let in.
type CustomAuth struct {
	HasAPIKey   bool     `json:"has_api_key"`
	HeaderNames []string `json:"header_names"`
}

// CustomModel is a model of a custom provider.
type CustomModel struct {
	UID string `json:"uid"`
	Model
	IsDefault bool           `json:"is_default"`
	Position  int64          `json:"position"`
	Metadata  map[string]any `json:"metadata"`
	CreatedBy string         `json:"created_by_user_uid"`
	CreatedAt time.Time      `json:"creation_date"`
	UpdatedAt time.Time      `json:"updated_at"`
}

// Header is a header that a provider is sent.
type Header struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// NewCustomProvider is a provider that is to be added.
type NewCustomProvider struct {
	Identifier  string           `json:"identifier"`
	DisplayName string           `json:"display_name"`
	BaseURL     string           `json:"base_url"`
	APIKey      string           `json:"api_key,omitempty"`
	Headers     []Header         `json:"headers,omitempty"`
	Models      []NewCustomModel `json:"models"` // exactly one of them is the default
}

// NewCustomModel is a model that is to be added. What has no value is left to the server.
type NewCustomModel struct {
	Name           string         `json:"model"`
	DisplayName    string         `json:"display_name"`
	API            string         `json:"api"`
	Input          []string       `json:"input"`
	Reasoning      bool           `json:"reasoning"`
	ThinkingLevels []string       `json:"thinking_levels,omitempty"`
	ContextWindow  *int64         `json:"context_window,omitempty"`
	MaxTokens      *int64         `json:"max_tokens,omitempty"`
	IsDefault      bool           `json:"is_default,omitempty"`
	Position       *int64         `json:"position,omitempty"`
	Metadata       map[string]any `json:"metadata,omitempty"`
}

// Change is what something is changed to. The zero value is no change: to null is another one than none.
type Change[T any] struct {
	to      *T
	changes bool
}

// To is a change to a value.
func To[T any](v T) Change[T] { return Change[T]{&v, true} }

// ToNull is a change to null, such as of a key that is to be forgotten.
func ToNull[T any]() Change[T] { return Change[T]{nil, true} }

// MarshalJSON is of [json.Marshaler].
func (c Change[T]) MarshalJSON() ([]byte, error) { return json.Marshal(c.to) }

// CustomProviderChanges is what of a provider is to be changed.
type CustomProviderChanges struct {
	Identifier  Change[string]   `json:"identifier,omitzero"`
	DisplayName Change[string]   `json:"display_name,omitzero"`
	BaseURL     Change[string]   `json:"base_url,omitzero"`
	APIKey      Change[string]   `json:"api_key,omitzero"`
	Headers     Change[[]Header] `json:"headers,omitzero"`
}

// CustomModelChanges is what of a model is to be changed.
type CustomModelChanges struct {
	Name           Change[string]         `json:"model,omitzero"`
	DisplayName    Change[string]         `json:"display_name,omitzero"`
	API            Change[string]         `json:"api,omitzero"`
	Input          Change[[]string]       `json:"input,omitzero"`
	Reasoning      Change[bool]           `json:"reasoning,omitzero"`
	ThinkingLevels Change[[]string]       `json:"thinking_levels,omitzero"`
	ContextWindow  Change[int64]          `json:"context_window,omitzero"`
	MaxTokens      Change[int64]          `json:"max_tokens,omitzero"`
	IsDefault      Change[bool]           `json:"is_default,omitzero"`
	Position       Change[int64]          `json:"position,omitzero"`
	Metadata       Change[map[string]any] `json:"metadata,omitzero"`
}

const (
	customPath      = "/api/v1/custom-model-providers/"
	customOnePath   = customPath + "{provider}/"
	customModelPath = customOnePath + "models/{model}/"
)

// CustomProviders are the providers that users have added.
func (c *Client) CustomProviders(ctx context.Context) (all []CustomProvider, err error) {
	_, err = c.ask(ctx, request{route: "GET " + customPath}, &all)
	return all, err
}

// AddCustomProvider adds a provider.
func (c *Client) AddCustomProvider(ctx context.Context, p NewCustomProvider) (added CustomProvider, err error) {
	_, err = c.ask(ctx, request{route: "POST " + customPath, body: p, ok: []int{http.StatusCreated}}, &added)
	return added, err
}

// ChangeCustomProvider changes a provider.
func (c *Client) ChangeCustomProvider(ctx context.Context, providerUID string, to CustomProviderChanges) (changed CustomProvider, err error) {
	_, err = c.ask(ctx, request{route: "PATCH " + customOnePath, vars: []string{providerUID}, body: to}, &changed)
	return changed, err
}

// DeleteCustomProvider deletes a provider.
func (c *Client) DeleteCustomProvider(ctx context.Context, providerUID string) error {
	_, err := c.ask(ctx, request{route: "DELETE " + customOnePath, vars: []string{providerUID}, ok: []int{http.StatusNoContent}}, nil)
	return err
}

// AddCustomModel adds a model to a provider.
func (c *Client) AddCustomModel(ctx context.Context, providerUID string, m NewCustomModel) (added CustomModel, err error) {
	_, err = c.ask(ctx, request{route: "POST " + customOnePath + "models/", vars: []string{providerUID}, body: m, ok: []int{http.StatusCreated}}, &added)
	return added, err
}

// ChangeCustomModel changes a model of a provider.
func (c *Client) ChangeCustomModel(ctx context.Context, providerUID, modelUID string, to CustomModelChanges) (changed CustomModel, err error) {
	_, err = c.ask(ctx, request{route: "PATCH " + customModelPath, vars: []string{providerUID, modelUID}, body: to}, &changed)
	return changed, err
}

// DeleteCustomModel deletes a model of a provider.
func (c *Client) DeleteCustomModel(ctx context.Context, providerUID, modelUID string) error {
	_, err := c.ask(ctx, request{route: "DELETE " + customModelPath, vars: []string{providerUID, modelUID}, ok: []int{http.StatusNoContent}}, nil)
	return err
}

package standin_test

import (
	"context"
	"net/http"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"

	"github.com/understudy-go/understudy/fakeagent/standin"
	"github.com/understudy-go/understudy/timelinekit/bubble"
)

const (
	catalogPath  = "/api/v1/model-providers/"
	attemptsPath = "/api/v1/model-provider-sign-in-attempts/"
	revokePath   = "/api/v1/model-provider-credentials/revoke/"
	customPath   = "/api/v1/custom-model-providers/"
	seededPath   = customPath + "00000000-0000-4000-8000-300000000001/"
	alphaPath    = seededPath + "models/00000000-0000-4000-8000-400000000001/"
)

// catalog is that of the platform.
func (c client) catalog() object {
	GinkgoHelper()
	a := c.platform("GET", catalogPath, nil)
	Expect(a.Status).To(Equal(http.StatusOK))
	return a.Body
}

// provider is one of the catalog.
func (c client) provider(name string) object {
	GinkgoHelper()
	for _, p := range c.catalog()["providers"].([]any) {
		if p := p.(object); p["provider"] == name {
			return p
		}
	}
	return nil
}

// everything is all that the platform tells of model providers.
func (c client) everything() string {
	GinkgoHelper()
	return c.platform("GET", catalogPath, nil).Text + c.platform("GET", customPath, nil).Text
}

// changing holds that what is done changes the digest of the catalog.
func (c client) changing(what func()) {
	GinkgoHelper()
	before := c.catalog()["catalog_digest"]
	what()
	after := c.catalog()["catalog_digest"]
	Expect(after).To(MatchRegexp("^sha256:[0-9a-f]{64}$"))
	Expect(after).NotTo(Equal(before))
}

// refused holds that a request is refused, and changes nothing.
func (c client) refused(method, path string, body any, status int, want types.GomegaMatcher) {
	GinkgoHelper()
	before := c.everything()
	a := c.platform(method, path, body)
	Expect(a.Status).To(Equal(status), a.Text)
	Expect(a.Body).To(want)
	Expect(c.everything()).To(Equal(before))
}

// customModel is the body of a new model, with some fields of its own.
func customModel(id string, more object) object {
	m := object{"model": id, "display_name": "The model " + id, "api": "openai-completions", "input": []string{"text"}, "reasoning": true}
	return with(m, more)
}

// customProvider is the body of a new provider, with some fields of its own.
func customProvider(more object) object {
	return with(object{"identifier": "acme", "display_name": "Acme", "base_url": "https://acme.test/v1", "models": []any{customModel("one", object{"is_default": true})}}, more)
}

// without is a field that is not there.
type without struct{}

func with(o, more object) object {
	for name, value := range more {
		o[name] = value
		if value == (without{}) {
			delete(o, name)
		}
	}
	return o
}

// wrong is the answer that says of a field what is wrong with it.
func wrong(field string, whys ...any) types.GomegaMatcher {
	return And(HaveLen(1), HaveKeyWithValue(field, HaveExactElements(whys...)))
}

// added is a new custom provider.
func (c client) added(body object) object {
	GinkgoHelper()
	a := c.platform("POST", customPath, body)
	Expect(a.Status).To(Equal(http.StatusCreated), a.Text)
	return a.Body
}

var _ = Describe("The model providers of the platform", bubble.InBubble, func() {
	var s *standin.Server
	var c client

	BeforeEach(func() {
		s = standin.New(GinkgoT())
		c = clientOf(s)
	})

	Describe("The catalog", func() {
		It("has two providers of its own, one of which is signed in, and a custom one", func() {
			got := c.catalog()
			Expect(got).To(And(HaveLen(3), HaveKeyWithValue("schema_version", 1.0), HaveKeyWithValue("catalog_digest", "sha256:"+strings.Repeat("0", 63)+"1")))
			models := func(names ...string) (all []any) {
				for _, name := range names {
					all = append(all, HaveKeyWithValue("model", name))
				}
				return all
			}
			own := And(HaveLen(10), HaveKeyWithValue("known", true), HaveKeyWithValue("enabled", true), HaveKeyWithValue("sign_in_available", true), HaveKeyWithValue("auth_methods", []any{"oauth"}))
			Expect(got["providers"]).To(HaveExactElements(
				And(own, HaveKeyWithValue("provider", "stand-in-cloud"), HaveKeyWithValue("display_name", "Stand-in Cloud"), HaveKeyWithValue("authenticated", true),
					HaveKeyWithValue("credential_status", "active"), HaveKeyWithValue("default_model", "swift-1"), HaveKeyWithValue("models", HaveExactElements(models("swift-1", "deep-1")...))),
				And(own, HaveKeyWithValue("provider", "stand-in-labs"), HaveKeyWithValue("authenticated", false), HaveKeyWithValue("credential_status", "missing"),
					HaveKeyWithValue("default_model", "labs-preview"), HaveKeyWithValue("models", HaveExactElements(models("labs-preview")...))),
				And(HaveLen(10), HaveKeyWithValue("provider", "stand-in-models"), HaveKeyWithValue("known", false), HaveKeyWithValue("enabled", true), HaveKeyWithValue("sign_in_available", false),
					HaveKeyWithValue("auth_methods", []any{}), HaveKeyWithValue("authenticated", true), HaveKeyWithValue("credential_status", "active"),
					HaveKeyWithValue("default_model", "alpha"), HaveKeyWithValue("models", HaveExactElements(models("alpha")...)))))
			for _, p := range got["providers"].([]any) {
				for _, m := range p.(object)["models"].([]any) {
					Expect(m).To(And(HaveLen(8), HaveKeyWithValue("display_name", Not(BeEmpty())), HaveKeyWithValue("api", MatchRegexp("^openai-(completions|responses)$")),
						HaveKeyWithValue("input", ContainElement("text")), HaveKeyWithValue("reasoning", BeAssignableToTypeOf(true)), HaveKeyWithValue("thinking_levels", Not(BeNil())),
						HaveKeyWithValue("context_window", BeNumerically(">", 0)), HaveKeyWithValue("max_tokens", BeNumerically(">", 0))))
				}
			}
		})

		It("is the same in each server", func() {
			Expect(clientOf(standin.New(GinkgoT())).everything()).To(Equal(c.everything()))
		})

		It("has another digest after each change, and none that it had before", func() {
			seen := map[any]bool{c.catalog()["catalog_digest"]: true}
			for range 3 {
				for _, sign := range []func(string) error{s.SignIn, s.SignOut} {
					Expect(sign("stand-in-labs")).To(Succeed())
					digest := c.catalog()["catalog_digest"]
					Expect(seen).NotTo(HaveKey(digest))
					seen[digest] = true
					Expect(sign("stand-in-labs")).To(Succeed()) // which changes nothing
					Expect(c.catalog()["catalog_digest"]).To(Equal(digest))
				}
			}
		})
	})

	Describe("A sign-in", func() {
		start := func() string {
			GinkgoHelper()
			a := c.platform("POST", attemptsPath, object{"provider": "stand-in-labs"})
			Expect(a.Status).To(Equal(http.StatusCreated))
			return attemptsPath + a.Body["uid"].(string) + "/"
		}

		It("is pending when it is read once, and completed when it is read again, which has the provider signed in", func() {
			began := time.Now().UTC().Format("2006-01-02T15:04:05.000Z")
			a := c.platform("POST", attemptsPath, object{"provider": "stand-in-labs"})
			Expect(a.Body).To(Equal(object{"uid": "00000000-0000-4000-8000-500000000001", "provider": "stand-in-labs", "status": "pending", "next_action": object{"type": "none"},
				"created_at": began, "updated_at": began, "completed_at": nil, "error_code": nil}))
			path := attemptsPath + a.Body["uid"].(string) + "/"
			time.Sleep(time.Second)
			before := c.everything()
			Expect(c.platform("GET", path, nil).Body).To(Equal(a.Body))
			Expect(c.everything()).To(Equal(before))
			c.changing(func() {
				done := time.Now().UTC().Format("2006-01-02T15:04:05.000Z")
				Expect(c.platform("GET", path, nil).Body).To(Equal(with(a.Body, object{"status": "completed", "updated_at": done, "completed_at": done})))
			})
			Expect(c.provider("stand-in-labs")).To(And(HaveKeyWithValue("authenticated", true), HaveKeyWithValue("credential_status", "active")))
			time.Sleep(time.Second)
			Expect(c.platform("GET", path, nil).Body).To(Equal(a.Body))
		})

		It("is one at a time for a provider: a second one is answered with the first", func() {
			path := start()
			c.refused("POST", attemptsPath, object{"provider": "stand-in-labs"}, http.StatusConflict, And(HaveKeyWithValue("code", "provider_signin_in_progress"), HaveKey("detail"),
				HaveKeyWithValue("attempt", And(HaveKeyWithValue("uid", "00000000-0000-4000-8000-500000000001"), HaveKeyWithValue("status", "pending")))))
			Expect(c.platform("POST", attemptsPath, object{"provider": "stand-in-cloud"}).Status).To(Equal(http.StatusCreated))
			c.platform("GET", path, nil)
			c.platform("GET", path, nil)
			Expect(start()).To(ContainSubstring("500000000003"))
		})

		It("is cancelled while it is pending, and not when it is over", func() {
			path := start()
			before := c.everything()
			a := c.platform("POST", path+"cancel/", nil)
			Expect(a.Status).To(Equal(http.StatusOK))
			Expect(a.Body).To(And(HaveKeyWithValue("status", "cancelled"), HaveKeyWithValue("completed_at", BeNil())))
			for range 3 {
				Expect(c.platform("GET", path, nil).Body).To(HaveKeyWithValue("status", "cancelled"))
			}
			Expect(c.everything()).To(Equal(before))
			c.refused("POST", path+"cancel/", nil, http.StatusConflict, HaveKeyWithValue("code", "signin_attempt_not_active"))
			path = start()
			c.platform("GET", path, nil)
			c.platform("GET", path, nil)
			c.refused("POST", path+"cancel/", nil, http.StatusConflict, HaveKeyWithValue("code", "signin_attempt_not_active"))
		})

		It("is refused for a provider that nobody can sign in to, and an attempt that there is not is not found", func() {
			for _, provider := range []string{"stand-in-models", "nobody"} {
				c.refused("POST", attemptsPath, object{"provider": provider}, http.StatusBadRequest, And(HaveKeyWithValue("code", "provider_signin_unavailable"), HaveKey("detail")))
			}
			c.refused("POST", attemptsPath, nil, http.StatusBadRequest, wrong("provider", "This field is required."))
			c.refused("POST", attemptsPath, object{"provider": 7}, http.StatusBadRequest, wrong("provider", "Not a valid string."))
			missing := attemptsPath + "00000000-0000-4000-8000-500000000009/"
			c.refused("GET", missing, nil, http.StatusNotFound, HaveKeyWithValue("code", "signin_attempt_not_found"))
			c.refused("POST", missing+"cancel/", nil, http.StatusNotFound, HaveKeyWithValue("code", "signin_attempt_not_found"))
			Expect(start()).To(ContainSubstring("500000000001"), "what was refused has used no id")
		})
	})

	Describe("A credential", func() {
		It("is revoked, and the provider is not signed in any more", func() {
			c.changing(func() {
				a := c.platform("POST", revokePath, object{"provider": "stand-in-cloud"})
				Expect(a.Status).To(Equal(http.StatusOK))
				Expect(a.Body).To(Equal(object{"provider": "stand-in-cloud", "credential_status": "revoked"}))
			})
			Expect(c.provider("stand-in-cloud")).To(And(HaveKeyWithValue("authenticated", false), HaveKeyWithValue("credential_status", "revoked")))
		})

		It("is not found where nobody signs in, and the provider must be named by a string", func() {
			for _, provider := range []string{"stand-in-models", "nobody"} {
				c.refused("POST", revokePath, object{"provider": provider}, http.StatusNotFound, HaveKey("detail"))
			}
			c.refused("POST", revokePath, object{}, http.StatusBadRequest, wrong("provider", "This field is required."))
			c.refused("POST", revokePath, object{"provider": nil}, http.StatusBadRequest, wrong("provider", "Not a valid string."))
		})
	})

	It("answer a turn whose provider is signed out, or whose model has gone, with an error that says why", func() {
		session := c.session()
		on := func(provider, model string) *reading {
			GinkgoHelper()
			session["llm_provider"], session["llm_model"] = provider, model
			return c.chat(session, "hello")
		}
		fails := func(r *reading, why string) {
			GinkgoHelper()
			Expect(r.frames).To(HaveExactElements(HaveKeyWithValue("type", "start"), object{"type": "error", "errorText": why}))
			Expect(r.done).To(BeTrue())
		}
		const signedOut = "The model provider stand-in-labs is not signed in."
		fails(on("stand-in-labs", "labs-preview"), signedOut)
		Expect(s.SignIn("stand-in-labs")).To(Succeed())
		Expect(on("stand-in-labs", "labs-preview").text()).To(ContainSubstring("stand-in-labs/labs-preview"))
		Expect(s.SignOut("stand-in-labs")).To(Succeed())
		fails(on("stand-in-labs", "labs-preview"), signedOut)
		fails(on("stand-in-labs", "swift-1"), "The model stand-in-labs/swift-1 is not in the catalog.")

		Expect(on("stand-in-models", "alpha").types()).To(Equal(replied))
		c.platform("PATCH", alphaPath, object{"model": "beta"})
		fails(on("stand-in-models", "alpha"), "The model stand-in-models/alpha is not in the catalog.")
		Expect(on("stand-in-models", "beta").types()).To(Equal(replied))
		c.platform("DELETE", seededPath, nil)
		fails(on("stand-in-models", "beta"), "The model stand-in-models/beta is not in the catalog.")
	})

	It("are signed in to and out of by a test, which is told of a name that nobody signs in by", func() {
		Expect(s.SignIn("stand-in-labs")).To(Succeed())
		Expect(c.provider("stand-in-labs")).To(And(HaveKeyWithValue("authenticated", true), HaveKeyWithValue("credential_status", "active")))
		Expect(s.SignOut("stand-in-labs")).To(Succeed())
		Expect(c.provider("stand-in-labs")).To(And(HaveKeyWithValue("authenticated", false), HaveKeyWithValue("credential_status", "revoked")))
		Expect(s.SignIn("stand-in-lab")).To(MatchError(`standin: nobody can sign in to or out of the model provider "stand-in-lab"; the providers for that are stand-in-cloud, stand-in-labs`))
		Expect(s.SignOut("stand-in-models")).To(MatchError(ContainSubstring("nobody can sign in")))
	})

	Describe("A custom provider", func() {
		It("is there from the beginning, with one model", func() {
			a := c.platform("GET", customPath, nil)
			Expect(a.Status).To(Equal(http.StatusOK))
			Expect(a.Text).To(MatchJSON(`[{
				"uid": "00000000-0000-4000-8000-300000000001", "identifier": "stand-in-models", "display_name": "Stand-in Models", "base_url": "https://models.stand-in.test/v1",
				"auth": {"has_api_key": true, "header_names": []}, "default_model": "alpha",
				"models": [{
					"uid": "00000000-0000-4000-8000-400000000001", "model": "alpha", "display_name": "Alpha", "api": "openai-completions", "input": ["text"], "reasoning": true,
					"thinking_levels": ["off", "high"], "context_window": 128000, "max_tokens": 16000, "is_default": true, "position": 0, "metadata": {},
					"created_by_user_uid": "00000000-0000-4000-8000-000000000001", "creation_date": "2000-01-01T00:00:00.000Z", "updated_at": "2000-01-01T00:00:00.000Z"}],
				"created_by_user_uid": "00000000-0000-4000-8000-000000000001", "creation_date": "2000-01-01T00:00:00.000Z", "updated_at": "2000-01-01T00:00:00.000Z"}]`))
		})

		It("is added with its models, and joins the catalog", func() {
			c.platform("GET", "/api/v1/agent-sessions/?organization_environment_uid=e&created_by_user_uid=somebody", nil)
			var got object
			c.changing(func() {
				got = c.added(customProvider(object{"models": []any{
					customModel("one", object{"reasoning": false, "thinking_levels": []string{"low"}}),
					customModel("two", object{"is_default": true, "position": -1, "metadata": object{"n": 1}, "context_window": 1e3, "max_tokens": nil}),
				}}))
			})
			Expect(got).To(And(HaveKeyWithValue("uid", "00000000-0000-4000-8000-300000000002"), HaveKeyWithValue("default_model", "two"), HaveKeyWithValue("created_by_user_uid", "somebody"),
				HaveKeyWithValue("auth", object{"has_api_key": false, "header_names": []any{}}),
				HaveKeyWithValue("models", HaveExactElements(
					And(HaveKeyWithValue("model", "two"), HaveKeyWithValue("uid", HaveSuffix("400000000003")), HaveKeyWithValue("position", -1.0), HaveKeyWithValue("metadata", object{"n": 1.0}), HaveKeyWithValue("context_window", 1000.0)),
					And(HaveKeyWithValue("model", "one"), HaveKeyWithValue("uid", HaveSuffix("400000000002")), HaveKeyWithValue("position", 0.0), HaveKeyWithValue("thinking_levels", []any{"low"}), HaveKeyWithValue("context_window", BeNil()))))))
			Expect(c.provider("acme")).To(And(HaveKeyWithValue("known", false), HaveKeyWithValue("authenticated", true), HaveKeyWithValue("credential_status", "active"),
				HaveKeyWithValue("default_model", "two"), HaveKeyWithValue("models", HaveExactElements(
					HaveKeyWithValue("model", "two"), And(HaveLen(8), HaveKeyWithValue("model", "one"), HaveKeyWithValue("thinking_levels", BeEmpty()))))))
		})

		DescribeTable("is refused, and what is wrong is said of the field,", func(more object, field string, whys ...any) {
			c.refused("POST", customPath, customProvider(more), http.StatusBadRequest, wrong(field, whys...))
			Expect(c.added(customProvider(nil))["uid"]).To(HaveSuffix("300000000002"), "what was refused has used no id")
		},
			Entry("without an identifier", object{"identifier": without{}}, "identifier", "This field is required."),
			Entry("with a number for an identifier", object{"identifier": 1}, "identifier", "Not a valid string."),
			Entry("with a blank identifier", object{"identifier": " "}, "identifier", "This field may not be blank."),
			Entry("with capitals in its identifier", object{"identifier": "Acme"}, "identifier", ContainSubstring("small letters")),
			Entry("with a hyphen in front of it", object{"identifier": "-acme"}, "identifier", ContainSubstring("small letters")),
			Entry("with a line break behind it", object{"identifier": "acme\n"}, "identifier", ContainSubstring("small letters")),
			Entry("with the name of a provider of the platform", object{"identifier": "stand-in-labs"}, "identifier", ContainSubstring("already")),
			Entry("with that of a custom one", object{"identifier": "stand-in-models"}, "identifier", ContainSubstring("already")),
			Entry("without a name to display", object{"display_name": without{}}, "display_name", "This field is required."),
			Entry("with a blank one", object{"display_name": ""}, "display_name", "This field may not be blank."),
			Entry("with null for one", object{"display_name": nil}, "display_name", "Not a valid string."),
			Entry("without a URL", object{"base_url": without{}}, "base_url", "This field is required."),
			Entry("with a URL of another scheme", object{"base_url": "ftp://acme.test"}, "base_url", ContainSubstring("http or https")),
			Entry("with a URL of no host", object{"base_url": "https://:80/v1"}, "base_url", ContainSubstring("http or https")),
			Entry("with a path for a URL", object{"base_url": "acme.test/v1"}, "base_url", ContainSubstring("http or https")),
			Entry("with a list for a URL", object{"base_url": []string{}}, "base_url", "Not a valid string."),
			Entry("with a number for a key", object{"api_key": 7}, "api_key", ContainSubstring("Not a valid string")),
			Entry("with an object for headers", object{"headers": object{}}, "headers", ContainSubstring("list")),
			Entry("with headers without a name, or a value", object{"headers": []any{object{"value": "v"}, object{"name": "n", "value": "v"}, object{"name": "n"}, "n: v", object{"name": "n", "value": 1}}}, "headers",
				"Header 1 must have a name and a value.", "Header 3 must have a name and a value.", "Header 4 must have a name and a value.", "Header 5 must have a name and a value."),
			Entry("without models", object{"models": without{}}, "models", "This field is required."),
			Entry("with an object for models", object{"models": object{}}, "models", ContainSubstring("list")),
			Entry("with no models", object{"models": []any{}}, "models", ContainSubstring("at least one")),
			Entry("with no default model", object{"models": []any{customModel("one", nil)}}, "models", "Exactly one model must be the default."),
			Entry("with two", object{"models": []any{customModel("one", object{"is_default": true}), customModel("two", object{"is_default": true})}}, "models", "Exactly one model must be the default."),
			Entry("with two models of one id", object{"models": []any{customModel("one", object{"is_default": true}), customModel("one", nil)}}, "models", "Model 2, model: The provider has a model with this id already."),
			Entry("with models that are wrong", object{"models": []any{customModel("one", object{"reasoning": "yes", "api": without{}}), 7, customModel("two", object{"input": []any{}})}}, "models",
				"Model 1, api: This field is required.", "Model 1, reasoning: Must be true or false.", "Model 2 must be an object.", "Model 3, input: Must have at least one of text, image."),
		)

		It("is told all that is wrong at once", func() {
			c.refused("POST", customPath, nil, http.StatusBadRequest, And(HaveLen(4), HaveKey("identifier"), HaveKey("display_name"), HaveKey("base_url"), HaveKey("models")))
			for _, body := range []string{"[]", "7", "null", `"text"`} {
				c.refused("POST", customPath, body, http.StatusBadRequest, wrong("non_field_errors", "The body must be an object."))
			}
			c.refused("POST", customPath, "{", http.StatusBadRequest, HaveKeyWithValue("detail", ContainSubstring("JSON parse error")))
		})

		It("is changed in what a request has, and keeps the rest", func() {
			before := c.added(customProvider(nil))
			path := customPath + before["uid"].(string) + "/"
			time.Sleep(time.Second)
			c.changing(func() {
				a := c.platform("PATCH", path, object{"identifier": "acme-2", "display_name": "Acme 2", "base_url": "http://127.0.0.1:8080"})
				Expect(a.Status).To(Equal(http.StatusOK))
				Expect(a.Body).To(Equal(with(before, object{"identifier": "acme-2", "display_name": "Acme 2", "base_url": "http://127.0.0.1:8080", "updated_at": "2000-01-01T00:00:01.000Z"})))
			})
			Expect(c.provider("acme")).To(BeNil())
			Expect(c.provider("acme-2")).To(HaveKeyWithValue("display_name", "Acme 2"))
			Expect(c.platform("PATCH", path, object{"identifier": "acme-2"}).Status).To(Equal(http.StatusOK), "its own name is not somebody else's")
		})

		It("is not changed at all by a request of which something is wrong", func() {
			for field, value := range (object{"identifier": "stand-in-cloud", "display_name": 1, "base_url": "nowhere", "api_key": []any{}, "headers": nil}) {
				c.refused("PATCH", seededPath, with(object{"identifier": "other", "display_name": "Other", "base_url": "https://other.test", "api_key": nil}, object{field: value}), http.StatusBadRequest, wrong(field, Not(BeEmpty())))
			}
		})

		It("tells nobody its key and the values of its headers: a key that is left out stays, and null clears it", func() {
			got := c.added(customProvider(object{"api_key": "a-secret", "headers": []object{{"name": "X-B", "value": "b-secret"}, {"name": "X-A", "value": "a-secret"}}}))
			path := customPath + got["uid"].(string) + "/"
			auth := func(change object) object {
				GinkgoHelper()
				a := c.platform("PATCH", path, change)
				Expect(a.Status).To(Equal(http.StatusOK))
				Expect(a.Text + c.everything()).NotTo(Or(ContainSubstring("secret"), ContainSubstring("api_key\":\""), ContainSubstring("stand-in-key")))
				return a.Body["auth"].(object)
			}
			names := []any{"X-B", "X-A"}
			Expect(got["auth"]).To(Equal(object{"has_api_key": true, "header_names": names}))
			Expect(auth(object{"display_name": "Other"})).To(Equal(object{"has_api_key": true, "header_names": names}))
			Expect(auth(object{"headers": []any{}})).To(Equal(object{"has_api_key": true, "header_names": []any{}}))
			Expect(auth(object{"api_key": nil})).To(Equal(object{"has_api_key": false, "header_names": []any{}}))
			Expect(auth(object{"api_key": "b-secret"})).To(Equal(object{"has_api_key": true, "header_names": []any{}}))
		})

		It("is deleted, and leaves the catalog", func() {
			c.changing(func() {
				a := c.platform("DELETE", seededPath, nil)
				Expect(a.Status).To(Equal(http.StatusNoContent))
				Expect(a.Text).To(BeEmpty())
			})
			Expect(c.provider("stand-in-models")).To(BeNil())
			Expect(c.platform("GET", customPath, nil).Text).To(MatchJSON("[]"))
			Expect(c.added(customProvider(object{"identifier": "stand-in-models"}))["uid"]).To(HaveSuffix("300000000002"), "no id is given twice")
		})

		It("is not found where there is none, and so are its models, whatever the body is", func() {
			other := c.added(customProvider(nil))["uid"].(string)
			nobody := customPath + "00000000-0000-4000-8000-300000000009/"
			for _, r := range [][2]string{{"PATCH", nobody}, {"DELETE", nobody}, {"POST", nobody + "models/"}, {"PATCH", nobody + "models/m/"}, {"DELETE", nobody + "models/m/"},
				{"PATCH", seededPath + "models/m/"}, {"DELETE", seededPath + "models/m/"}, {"PATCH", customPath + other + "/models/00000000-0000-4000-8000-400000000001/"}} {
				c.refused(r[0], r[1], "[]", http.StatusNotFound, HaveKey("detail"))
			}
		})
	})

	Describe("A model of a custom provider", func() {
		It("is added behind the others, and is the default if it says so", func() {
			c.changing(func() {
				a := c.platform("POST", seededPath+"models/", customModel("beta", object{"input": []string{"text", "image"}}))
				Expect(a.Status).To(Equal(http.StatusCreated))
				Expect(a.Body).To(And(HaveLen(15), HaveKeyWithValue("uid", "00000000-0000-4000-8000-400000000002"), HaveKeyWithValue("position", 1.0), HaveKeyWithValue("is_default", false),
					HaveKeyWithValue("input", []any{"text", "image"}), HaveKeyWithValue("thinking_levels", []any{}), HaveKeyWithValue("context_window", BeNil()), HaveKeyWithValue("metadata", object{})))
			})
			Expect(c.provider("stand-in-models")).To(HaveKeyWithValue("default_model", "alpha"))
			Expect(c.platform("POST", seededPath+"models/", customModel("gamma", object{"is_default": true})).Status).To(Equal(http.StatusCreated))
			Expect(c.provider("stand-in-models")).To(And(HaveKeyWithValue("default_model", "gamma"), HaveKeyWithValue("models", HaveExactElements(
				HaveKeyWithValue("model", "alpha"), HaveKeyWithValue("model", "beta"), HaveKeyWithValue("model", "gamma")))))
		})

		DescribeTable("is refused, and is not changed either, if there is something wrong with its", func(field string, value any) {
			body := customModel("beta", object{"is_default": true})
			c.refused("POST", seededPath+"models/", with(body, object{field: value}), http.StatusBadRequest, wrong(field, Not(BeEmpty())))
			if value != (without{}) {
				body = object{"display_name": "Other", "position": 9, field: value}
				if field == "model" && value == "alpha" {
					c.platform("POST", seededPath+"models/", customModel("beta", nil))
					body["model"] = "beta"
				}
				c.refused("PATCH", alphaPath, body, http.StatusBadRequest, wrong(field, Not(BeEmpty())))
			}
		},
			Entry("id, which is not there", "model", without{}),
			Entry("id, which is blank", "model", ""),
			Entry("id, which another one has", "model", "alpha"),
			Entry("name, which is not there", "display_name", without{}),
			Entry("name, which is no string", "display_name", object{}),
			Entry("API, which is not there", "api", without{}),
			Entry("API, which nobody knows", "api", "openai"),
			Entry("API, which is no string", "api", 1),
			Entry("input, which is not there", "input", without{}),
			Entry("input, of which there is none", "input", []any{}),
			Entry("input, which nobody knows", "input", []any{"text", "smell"}),
			Entry("input, which is no list", "input", "text"),
			Entry("input, which has more than strings", "input", []any{nil, "text"}),
			Entry("reasoning, which is not there", "reasoning", without{}),
			Entry("reasoning, which is no truth", "reasoning", 1),
			Entry("levels of thinking, one of which nobody knows", "thinking_levels", []any{"off", "very"}),
			Entry("levels of thinking, which are null", "thinking_levels", nil),
			Entry("context window, which is 0", "context_window", 0),
			Entry("context window, which has half a token", "context_window", 1.5),
			Entry("context window, which is a string", "context_window", "128000"),
			Entry("tokens, of which there are too many", "max_tokens", 1e300),
			Entry("being the default, which is no truth", "is_default", "true"),
			Entry("position, which is null", "position", nil),
			Entry("position, which is too far away", "position", 1<<53+1),
			Entry("position, which is no place at all", "position", 1e21),
			Entry("metadata, which are a list", "metadata", []any{}),
		)

		It("is changed in what a request has, and keeps the rest", func() {
			c.platform("POST", seededPath+"models/", customModel("beta", nil))
			time.Sleep(time.Second)
			c.changing(func() {
				a := c.platform("PATCH", alphaPath, object{"display_name": "Alpha 2", "context_window": nil, "position": 1})
				Expect(a.Status).To(Equal(http.StatusOK))
				Expect(a.Body).To(And(HaveKeyWithValue("display_name", "Alpha 2"), HaveKeyWithValue("context_window", BeNil()), HaveKeyWithValue("max_tokens", 16_000.0),
					HaveKeyWithValue("is_default", true), HaveKeyWithValue("creation_date", "2000-01-01T00:00:00.000Z"), HaveKeyWithValue("updated_at", "2000-01-01T00:00:01.000Z")))
			})
			Expect(c.provider("stand-in-models")["models"]).To(HaveExactElements(HaveKeyWithValue("display_name", "Alpha 2"), HaveKeyWithValue("model", "beta")), "of two in one place the older one is first")
			c.platform("PATCH", alphaPath, object{"position": 2})
			Expect(c.provider("stand-in-models")["models"]).To(HaveExactElements(HaveKeyWithValue("model", "beta"), HaveKeyWithValue("model", "alpha")))
		})

		It("is the default until another one is: it cannot cease to be that, and cannot be deleted", func() {
			beta := seededPath + "models/" + c.platform("POST", seededPath+"models/", customModel("beta", nil)).Body["uid"].(string) + "/"
			c.refused("PATCH", alphaPath, object{"is_default": false}, http.StatusBadRequest, wrong("is_default", ContainSubstring("another one")))
			c.refused("DELETE", alphaPath, nil, http.StatusBadRequest, HaveKeyWithValue("detail", ContainSubstring("another one")))
			c.changing(func() {
				Expect(c.platform("PATCH", beta, object{"is_default": true}).Body).To(HaveKeyWithValue("is_default", true))
			})
			Expect(c.provider("stand-in-models")).To(HaveKeyWithValue("default_model", "beta"))
			Expect(c.platform("PATCH", alphaPath, object{"is_default": false}).Body).To(HaveKeyWithValue("is_default", false))
			c.changing(func() {
				Expect(c.platform("DELETE", alphaPath, nil).Status).To(Equal(http.StatusNoContent))
			})
			Expect(c.provider("stand-in-models")["models"]).To(HaveExactElements(HaveKeyWithValue("model", "beta")))
			c.refused("DELETE", beta, nil, http.StatusBadRequest, HaveKey("detail"))
		})
	})

	It("are the same for whoever asks, and ask for a token like all of the platform", func() {
		for _, path := range []string{catalogPath, customPath} {
			Expect(c.do(request(context.Background(), "GET", platformURL+path, "", nil)).Status).To(Equal(http.StatusUnauthorized))
			Expect(c.do(request(context.Background(), "GET", "https://elsewhere.test/__platform__"+path, "another token", nil)).Text).To(Equal(c.platform("GET", path, nil).Text))
		}
	})
})

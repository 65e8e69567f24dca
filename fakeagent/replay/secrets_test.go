package replay_test

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"pgregory.net/rapid"

	"github.com/understudy-go/understudy/fakeagent/replay"
)

// noise is letters and digits that look random. The secrets here are put together, so that nobody who looks for some finds them in this file.
const noise = "q7Zr2LmX9pKd4VbT8wYc5NhJ3sFg6GaR1uEoQiMx0tBkWzDyHvSnPfClUj7A2e5R9"

func jwt() string {
	part := func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
	return part(`{"alg":"HS256"}`) + "." + part(`{"sub":"12345678"}`) + "." + noise[:43]
}

func pem() string {
	return "-----BEGIN RSA " + "PRIVATE KEY-----\n" + noise[:64] + "\n" + noise[:64] + "\n-----END RSA " + "PRIVATE KEY-----\n"
}

// secrets are texts with a secret, by what it looks like.
var secrets = []struct{ what, text string }{
	{"an AWS access key id", "AK" + "IA" + "Q7ZR2LMX9PKD4VBT"},
	{"an AWS access key id", "AS" + "IA" + "Q7ZR2LMX9PKD4VBT"},
	{"a GitHub token", "gh" + "p_" + noise[:36]},
	{"a GitHub token", "gh" + "o_" + noise[:36]},
	{"a GitHub token", "gh" + "s_" + noise[:36]},
	{"a GitHub token", "github" + "_pat_" + noise[:22] + "_" + noise[:59]},
	{"a GitLab token", "glp" + "at-" + noise[:20]},
	{"a Slack token", "xo" + "xb-123456789012-" + noise[:24]},
	{"a Slack webhook", "https://hooks.slack.com" + "/services/T12345678/B12345678/" + noise[:24]},
	{"an Anthropic key", "sk-" + "ant-api03-" + noise[:40] + "-" + noise[:20] + "_AA"},
	{"an OpenAI key", "sk-" + noise[:48]},
	{"an OpenAI key", "sk-" + "proj-" + noise[:48]},
	{"a Google API key", "AI" + "za" + noise[:35]},
	{"a Stripe key", "sk_" + "live_" + noise[:24]},
	{"a Stripe key", "rk_" + "live_" + noise[:24]},
	{"an npm token", "np" + "m_" + noise[:36]},
	{"a PyPI token", "py" + "pi-AgEIcHlwaS5vcmc" + noise[:50]},
	{"a JSON web token", jwt()},
	{"a private key", pem()},
	{"a password in a URL", "postgres://ann:" + "tr0ub4dor" + "@db.internal/app"},
	{"a password in a URL", "https://x-access-token:" + "opensesame" + "@git.internal/a.git"},
	{"what stands in an Authorization header", "Authorization: Bearer " + noise[:20]},
	{"what stands in an Authorization header", "curl -H 'authorization: bearer " + noise[:10] + "'"},
	{"what stands in an Authorization header", "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("ann:tr0ub4dor"))},
	{"what stands in an Authorization header", "Authorization: token " + noise[:20]},
	{"what stands in an Authorization header", "it sent Bearer " + noise[:20] + " to it"},
	{"a value with the name of a secret", "Api-Key: s3" + "cr3t"},
	{"a value with the name of a secret", "export OPENAI_API_KEY=" + "s3" + "cr3t"},
	{"a value with the name of a secret", `password: "hunter` + `22"`},
	{"a value with the name of a secret", "dbPassword = 'hunter" + "22'"},
	{"a value with the name of a secret", "passwd := `hunter" + "22`"},
	{"a value with the name of a secret", `'client_secret' => 'hunter` + `22'`},
	{"a value with the name of a secret", "GET /?a=1&access_token=" + noise[:20] + "&b=2"},
	{"a value with the name of a secret", `{"a":1}` + "\n" + `{"api_key":"hunter` + `22"}`},
	{"a value with the name of a secret", `it printed {\"apiKey\": \"hunter` + `22\"}`},
	{"a value with the name of a secret", "+SECRET=hunter" + "22"},
	{"a cookie", "Set-Cookie: sid=" + noise[:20] + "; Path=/; HttpOnly"},
	{"a cookie", "cookie: theme=dark; sid=" + noise[:20]},
}

// harmless are texts that only look as if they had a secret.
var harmless = []string{
	someID, treeA, strings.Repeat("0123456789abcdef", 4), "sha256:" + strings.Repeat("0123456789abcdef", 4), "sha512-" + noise + "==",
	"<redacted-1>", "Authorization: Bearer <redacted-1>", "Authorization: Bearer $TOKEN", "Authorization: Bearer ${TOKEN1}", "Authorization: Bearer ***", "api_key=xxxxxxxx1",
	"Api-Key: <your key 1>", "API_KEY={{secret1}}", "token: " + someID, "token=" + treeA, "AK" + "IAIOSFODNN7EXAMPLE", "gh" + "p_" + strings.Repeat("x", 36), "sk-ant-" + strings.Repeat("ab1", 20),
	"https://user:password@example.com", "https://user:$PASS@host/", "https://host:8080/a@b", "ssh://git@host/a", "http://a:b/c", "mailto:a@b", "no password: none at all",
	"password = readPassword1(x)", "password := config.password1", "password = input12", "password: getPassword(user1)", "api_key = process.env.KEY1", "secret == 'hunter22'", "apiKey: OPENAI_KEY_2",
	"secret: /run/secrets/db1", "the token: short1", "tokens: 12345678", "nextPageToken: " + noise[:20], "max_tokens=4096", "secret: sha256:" + noise,
	"sk-folding-cube-animation-of-2026-x", "task-" + noise[:40], "Basic authentication", "Basic " + base64.StdEncoding.EncodeToString([]byte("no colon 12345")),
	"the basics: bearer token", "-----BEGIN " + "PRIVATE KEY-----", "grep '-----BEGIN RSA " + "PRIVATE KEY-----' *", "password:", "password=", "cookie: a", "Cookie: theme=dark", "",
	"password: correct horse battery staple", "x" + "AK" + "IA" + "Q7ZR2LMX9PKD4VBT",
}

func textEntry(text string) replay.Entry {
	GinkgoHelper()
	e, err := json.Marshal(map[string]any{"kind": "text", "text": text})
	Expect(err).NotTo(HaveOccurred())
	return e
}

// findingsIn are the findings of an entry as one prints them.
func findingsIn(e string) (all []string) {
	for _, f := range replay.FindSecrets(replay.Entry(e)) {
		all = append(all, f.String())
	}
	return all
}

var _ = Describe("The search for secrets", func() {
	for _, s := range secrets {
		It(fmt.Sprintf("finds %s in %.14q…", s.what, s.text), func() {
			Expect(replay.FindSecrets(textEntry("It is "))).To(BeEmpty())
			for _, around := range []string{"%s", "so (%s) it is", "a\n%s\nb"} {
				found := replay.FindSecrets(textEntry(fmt.Sprintf(around, s.text)))
				Expect(found).To(Equal([]replay.Finding{{Path: "text", What: s.what}}), around)
			}
		})
	}

	for _, text := range harmless {
		It(fmt.Sprintf("finds nothing in %.60q", text), func() {
			Expect(replay.FindSecrets(textEntry(text))).To(BeEmpty())
		})
	}

	It("finds nothing in the example", func() {
		data, err := os.ReadFile("testdata/greeting.jsonl")
		Expect(err).NotTo(HaveOccurred())
		for line := range bytes.Lines(data) {
			Expect(replay.FindSecrets(line)).To(BeEmpty(), "%s", line)
		}
	})

	key := "AI" + "za" + noise[:35]

	DescribeTable("says where it is:",
		func(entry string, want ...string) { Expect(findingsIn(entry)).To(Equal(want)) },
		Entry("in an object in a list", `{"kind":"tool","input":{"a":[1,{"weird":"`+key+`"}]}}`, "input.a[1].weird has a Google API key"),
		Entry("in JSON in a string", `{"kind":"tool-result","preview":"{\"body\": [\"`+key+`\"]}"}`, "preview.body[0] has a Google API key"),
		Entry("in JSON in JSON in a string", `{"preview":"{\"b\":\"{\\\"api_key\\\":\\\"hunter`+`22\\\"}\"}"}`, "preview.b.api_key has a value with the name of a secret"),
		Entry("by the name of a key", `{"input":{"apiKey":"hunter`+`22","other":"hunter`+`22"}}`, "input.apiKey has a value with the name of a secret"),
		Entry("by the name of a list", `{"x-api-keys":["hunter`+`22"],"passwords":[],"x-api-key":["hunter`+`22"]}`, "x-api-key[0] has a value with the name of a secret"),
		Entry("by the name beside a value", `{"env":[{"name":"A","value":"hunter`+`22"},{"name":"DB_PASSWORD","value":"hunter`+`22"}],"value":"hunter`+`22"}`, "env[1].value has a value with the name of a secret"),
		Entry("in headers", `{"headers":{"Authorization":"Bearer hunter`+`22","Set-Cookie":"sid=`+noise[:20]+`; Path=/","Accept":"text/html1"}}`,
			"headers.Authorization has what stands in an Authorization header", "headers.Set-Cookie has a cookie"),
		Entry("twice", `{"a":"`+key+`","b":"`+key+" "+key+`"}`, "a has a Google API key", "b has a Google API key"),
		Entry("in what is no JSON", `{"a":"`+key, "the entry has a Google API key"),
		Entry("in a string alone", `"`+key+`"`, "the entry has a Google API key"),
		Entry("in a key, which it does not tell", `{"a":{"`+key+`":1}}`, "a.… has a Google API key"),
		Entry("below a key that is one, which it does not tell either", `{"`+key+`":{"password":"hunter`+`22"}}`, "… has a Google API key", "….password has a value with the name of a secret"),
		Entry("below a key that has the same text", `{"hunter`+`22":{"password":"hunter`+`22"}}`, "….password has a value with the name of a secret"),
		Entry("below a path that is the same text", `{"1p4":{"password":"1p4.password"}}`, "… has a value with the name of a secret"),
		Entry("below a key that is long, or has a line feed in it", `{"`+strings.Repeat("é", 50)+`":{"a\nb":"`+key+`"}}`, strings.Repeat("é", 40)+`….a\nb has a Google API key`),
	)

	It("does not look for what is random where ids are", func() {
		Expect(findingsIn(`{"kind":"tool","callId":"toolu_` + noise[:24] + `","scope":{"taskKey":"` + noise[:20] + `"}}`)).To(BeEmpty())
	})

	Context("in commits", func() {
		commits := func(c replay.Commit) replay.Entry {
			e, err := json.Marshal(map[string]any{"kind": "workspace-commits", "baseline": replay.Revision{}, "commits": []replay.Commit{c}})
			Expect(err).NotTo(HaveOccurred())
			return e
		}

		It("looks into messages", func() {
			Expect(findingsIn(string(commits(replay.Commit{Message: "use " + key})))).To(Equal([]string{"commits[0].message has a Google API key"}))
		})

		It("looks into the files of binary patches", func() {
			patch := binaryPatch("conf/.env", "literal", "A=1\nAPI_KEY=hunter"+"22\n")
			Expect(findingsIn(string(commits(replay.Commit{Patch: patch})))).To(Equal([]string{"commits[0].patch (conf/.env) has a value with the name of a secret"}))
		})

		It("looks into what a delta inserts", func() {
			patch := binaryPatch(".env", "delta", "\x80\x08\xd1\x08\x90\x64"+"\x14API_KEY=hunter"+"22\nB=1"+"\x90\x64")
			Expect(findingsIn(string(commits(replay.Commit{Patch: patch})))).To(Equal([]string{"commits[0].patch (.env) has a value with the name of a secret"}))
		})

		It("looks into the lines of patches of text, and names of files", func() {
			patch := "diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+password=hunter" + "22\n"
			Expect(findingsIn(string(commits(replay.Commit{Patch: patch})))).To(Equal([]string{"commits[0].patch has a value with the name of a secret"}))
			Expect(findingsIn(string(commits(replay.Commit{Patch: binaryPatch("a-"+key, "literal", "password=hunter"+"22")})))).To(Equal([]string{
				"commits[0].patch has a Google API key", "commits[0].patch (…) has a value with the name of a secret"}))
		})
	})
})

// binaryPatch is a patch of a file, as Git writes them.
func binaryPatch(file, kind, data string) string {
	var packed bytes.Buffer
	w := zlib.NewWriter(&packed)
	_, _ = w.Write([]byte(data))
	_ = w.Close()
	const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"
	var b strings.Builder
	fmt.Fprintf(&b, "diff --git a/%[1]s b/%[1]s\nindex %[2]s..%[3]s 100644\nGIT binary patch\n%[4]s %[5]d\n", file, treeA, treeB, kind, len(data))
	for packed.Len() > 0 {
		line := packed.Next(52)
		b.WriteByte(digits[9+len(line)])
		for len(line) > 0 {
			var word [4]byte
			line = line[copy(word[:], line):]
			n, out := binary.BigEndian.Uint32(word[:]), [5]byte{}
			for i := range out {
				out[4-i] = digits[n%85]
				n /= 85
			}
			b.Write(out[:])
		}
		b.WriteByte('\n')
	}
	return b.String() + "\nliteral 0\nHcmV?d00001\n\n"
}

// contentsOf is what a patch has of files.
func contentsOf(patch string) (all [][2]string) {
	_, of := replay.PatchTexts(patch)
	for _, p := range of {
		all = append(all, [2]string{p.FileName(), p.Text()})
	}
	return all
}

var _ = Describe("The texts of a patch", func() {
	It("are those of its files, before and after", func() {
		patch := "diff --git a/greet.txt b/greet.txt\nindex ce013625030ba8dba906f756967f9e9ca394464a..81e51693859963d58cdf1a6fe395d8bc774b0719 100644\n" +
			"GIT binary patch\nliteral 9\nQcmYe#&reZENvz}o01(gv5&!@I\n\nliteral 6\nNcmc~u&B@8<0ssh00v`YX\n\n" +
			"diff --git a/empty b/empty\nold mode 100644\nnew mode 100755\n"
		Expect(contentsOf(patch)).To(Equal([][2]string{{"greet.txt", "good day\n"}, {"greet.txt", "hello\n"}}))
		lines, _ := replay.PatchTexts(patch)
		Expect(lines).To(Equal("diff --git a/greet.txt b/greet.txt\nGIT binary patch\nliteral 9\nliteral 6\ndiff --git a/empty b/empty\nold mode 100644\nnew mode 100755\n"))
	})

	It("are, of a delta, what it inserts", func() {
		patch := "diff --git a/n.txt b/n.txt\nindex c680..7b83 100644\nGIT binary patch\ndelta 29\nkcmZ1?y;XX{95#W>yyDcNlGGH1q)LU1#JrTvv)MS=0jCTKY5)KL\n\ndelta 12\nTcmdlgy+nG$9JbAC**Mq%Ay5QY\n\n"
		Expect(contentsOf(patch)).To(Equal([][2]string{{"n.txt", "\ninserted by hand\n"}, {"n.txt", "\n\n"}}))
	})

	It("are those of long files and of long lines of data", func() {
		text := strings.Repeat(noise, 1000)
		Expect(contentsOf(binaryPatch("a", "literal", text))).To(Equal([][2]string{{"a", text}, {"a", ""}}))
	})

	It("are no more than the lines where data is damaged", func() {
		for _, damaged := range []string{"Q\n\n", "Q cmYe\n\n", "QcmYe#&reZENvz}o01(gv5&!@ \n\n", "QcmYe#&reZENvz}o01(gv5&!@I", "?cmYe#\n\n", "É\n\n"} {
			lines, of := replay.PatchTexts("literal 9\n" + damaged)
			Expect(of).To(BeEmpty())
			Expect(lines).To(Equal("literal 9\n" + strings.TrimSuffix(damaged, "\n\n") + "\n" + strings.Repeat("\n", strings.Count(damaged, "\n")/2)))
		}
		Expect(contentsOf("literal 9\nD00000\n\n")).To(Equal([][2]string{{"", ""}}), "what cannot be unpacked")
		Expect(contentsOf(binaryPatch("a", "delta", "\x01\x01\x20abc"))).To(HaveExactElements([2]string{"a", "abc"}, [2]string{"a", ""}), "a delta that is cut off")
	})

	It("are as long as one can look at, whatever a few bytes unpack to", func() {
		Expect(contentsOf(binaryPatch("a", "literal", strings.Repeat("a", 17<<20)))[0][1]).To(HaveLen(16 << 20))
	})
})

func FuzzSecrets(f *testing.F) {
	for _, s := range secrets {
		f.Add(s.text)
		if e, err := json.Marshal(map[string]any{s.text: []any{s.text, map[string]any{"password": s.text}}}); err == nil {
			f.Add(string(e))
		}
	}
	f.Add(`{"commits":[{"patch":"` + strings.NewReplacer("\n", `\n`, `"`, `\"`).Replace(binaryPatch("a", "delta", "\x01\x01\x03abc")) + `"}]}`)
	f.Add(`{"1p4":{"password":"1p4.password"},"name":"token","value":["[\"a\"]"]}`)
	f.Fuzz(func(t *testing.T, text string) {
		if same, err := replay.RedactEntry(replay.Entry(text), func(s string) string { return s }); err == nil && string(same) != text {
			t.Errorf("nothing to redact makes %q of %q", same, text)
		}
		for _, entry := range []replay.Entry{replay.Entry(text), jsonString(text)} {
			found := replay.FindSecrets(entry)
			secret := replay.SecretTexts(entry)
			if len(found) > len(secret) || len(found) == 0 && len(secret) > 0 {
				t.Errorf("%d findings for %d secrets", len(found), len(secret))
			}
			for _, f := range found {
				if strings.ContainsAny(f.String(), "\r\n") {
					t.Errorf("it is more than one line: %q", f)
				}
				for _, s := range secret {
					if strings.Contains(f.Path, s) {
						t.Errorf("%q is told in %q", s, f)
					}
				}
			}
		}
	})
}

func jsonString(text string) replay.Entry {
	e, _ := json.Marshal(text)
	return e
}

// TestSecretsAreNotTold is that no finding has a secret in it, wherever the secret is, and that each is found.
func TestSecretsAreNotTold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.SampledFrom(secrets).Draw(t, "secret").text
		var value any = secret
		for range rapid.IntRange(0, 5).Draw(t, "depth") {
			key := rapid.SampledFrom([]string{"a", "b c", "name", "value", "text", "patch", "input", secret, "x" + secret}).Draw(t, "key")
			switch rapid.IntRange(0, 2).Draw(t, "in") {
			case 0:
				value = map[string]any{key: value}
			case 1:
				value = []any{1, value, nil}
			default:
				text, _ := json.Marshal(value)
				value = string(text)
			}
		}
		entry, _ := json.Marshal(map[string]any{"kind": "raw", "value": value})
		found := replay.FindSecrets(entry)
		if len(found) == 0 {
			t.Fatalf("nothing is found in %s", entry)
		}
		for _, f := range found {
			if strings.Contains(f.String(), secret) || strings.Contains(f.String(), noise[:10]) {
				t.Fatalf("%s tells what is secret in %s", f, entry)
			}
		}
	})
}

// BenchmarkSecrets looks for secrets in entries without any, a text of 1 KB each.
func BenchmarkSecrets(b *testing.B) {
	prose := strings.Repeat("I have changed the greeting: it says good day now. The tokens of the parser are the same as before.\n", 10)
	code := strings.Repeat("func (p *parser) token(key string) error { return p.expect(key, \"a=b\", p.Token.Secret) } // see https://go.dev\n", 10)
	for _, c := range []struct{ name, text string }{{"prose", prose}, {"code", code}} {
		entry := resultEntry(c.text)
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(entry)))
			b.ReportAllocs()
			for b.Loop() {
				if found := replay.FindSecrets(entry); found != nil {
					b.Fatal(found)
				}
			}
		})
	}
}

func resultEntry(text string) replay.Entry {
	e, _ := json.Marshal(map[string]any{"kind": "tool-result", "callId": "t1", "name": "read", "isError": false, "preview": text, "characters": len(text), "source": "agent"})
	return e
}

package standin_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent/standin"
)

var _ = Describe("The requests that came", func() {
	It("are the newest 10,000, in their order, and the others are counted", func() {
		s := standin.New(GinkgoT(), standin.WithoutChecks())
		const all = 12_345
		for i := range all {
			r := httptest.NewRequest(http.MethodPost, fmt.Sprintf("%s/api/v1/agents/%d/start-new-session/", platformURL, i), strings.NewReader(fmt.Sprintf(`{"n":%d}`, i)))
			s.ServeHTTP(httptest.NewRecorder(), r)
		}
		Expect(s.DroppedRequests()).To(Equal(all - 10_000))
		got := s.Requests()
		Expect(got).To(HaveLen(10_000))
		for i, r := range got {
			n := fmt.Sprint(all - 10_000 + i)
			if r.Path != "/api/v1/agents/"+n+"/start-new-session/" || fmt.Sprint(r.Body) != "map[n:"+n+"]" || r.Status != http.StatusUnauthorized {
				Fail(fmt.Sprintf("request %d is %+v", i, r))
			}
		}
	})

	It("have a body that is JSON, a text, or nothing", func() {
		s := standin.New(GinkgoT(), standin.WithoutChecks())
		for _, body := range []string{`{"a":[1.0]}`, `{"a":`, "\xff", " "} {
			s.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, platformURL+"/api/v1/x", strings.NewReader(body)))
		}
		for _, requests := range [][]standin.Request{s.Requests(), s.FindRequests("POST", "/api/v1/x"), s.UnhandledRequests()} {
			Expect(requests).To(HaveExactElements(
				HaveField("Body", HaveKey("a")), HaveField("Body", `{"a":`), HaveField("Body", "\xff"), HaveField("Body", BeNil())))
		}
	})
})

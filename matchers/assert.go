package matchers

// T is what [Assert] needs of a test: *testing.T, testing.TB, Ginkgo's GinkgoT() and rapid's T all have it.
type T interface {
	Helper()
	Fatalf(format string, args ...any)
}

// Assert is for tests without Gomega: unless the actual matches, it ends the test with the failure message, as Gomega's Expect does. So it
// is for the goroutine of the test; others may ask m.Match.
func Assert(t T, actual any, m Matcher) {
	t.Helper()
	ok, err := m.Match(actual)
	if err != nil {
		t.Fatalf("%v", err)
	} else if !ok {
		t.Fatalf("%s", m.FailureMessage(actual))
	}
}

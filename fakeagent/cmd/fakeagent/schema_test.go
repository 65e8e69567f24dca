package main

import (
	"context"
	"encoding/json"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"

	"github.com/understudy-go/understudy/fakeagent/script"
)

var _ = Describe("schema", func() {
	It("prints the JSON Schema of the script language", func() {
		got := invoke("schema")
		Expect(got).To(succeed())
		Expect(got.Out).To(Equal(string(script.Schema())))
		Expect(json.Valid([]byte(got.Out))).To(BeTrue())
	})

	It("fails if it cannot be written", func() {
		errs := gbytes.NewBuffer()
		Expect(run(context.Background(), []string{"schema"}, console{brokenWriter{}, errs, false})).To(Equal(1))
		Expect(errs).To(gbytes.Say(`^fakeagent: the output could not be written: disk full\n$`))
	})
})

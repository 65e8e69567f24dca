package bubble_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/timelinekit/bubble"
)

var _ = DescribeTable("The head of a stack", func(line, state string, durable bool, name string, labels map[string]string) {
	s, d, n, l := bubble.Head(line)
	Expect(s).To(Equal(state))
	Expect(d).To(Equal(durable))
	Expect(n).To(Equal(name))
	Expect(l).To(Equal(labels))
},
	Entry("outside", "goroutine 7 [running]:", "running", false, "", nil),
	Entry("in a bubble", "goroutine 7 [chan receive (durable), synctest bubble 3]:", "chan receive", true, "synctest bubble 3", nil),
	Entry("in a bubble, for long", "goroutine 7 [select, 2 minutes, locked to thread, synctest bubble 13]:", "select", false, "synctest bubble 13", nil),
	Entry("with addresses", "goroutine 7 gp=0xc000002000 m=nil [IO wait, synctest bubble 3]:", "IO wait", false, "synctest bubble 3", nil),
	Entry("with labels", `goroutine 7 [select, synctest bubble 3 labels:{"a": "b, c", "d": "\"]: (durable), synctest bubble 4"}]:`, "select", false, "synctest bubble 3",
		map[string]string{"a": "b, c", "d": `"]: (durable), synctest bubble 4`}),
	Entry("with labels and no bubble", `goroutine 7 [select labels:{"a": ", synctest bubble 4]:"}]:`, "select", false, "", map[string]string{"a": ", synctest bubble 4]:"}),
	Entry("of something else", "goroutine profile: total 7", "", false, "", nil),
)

var _ = DescribeTable("Virtual time", func(stuck bool, lines ...string) {
	Expect(bubble.Stuck(lines...)).To(Equal(stuck))
},
	Entry("moves when all wait for it", false, "goroutine 7 [sleep (durable), synctest bubble 3]:", "goroutine 8 [select (durable), synctest bubble 3]:"),
	Entry("stands still when one waits for something else", true, "goroutine 7 [sleep (durable), synctest bubble 3]:", "goroutine 8 [sync.Mutex.Lock, synctest bubble 3]:"),
	Entry("stands still in a system call", true, "goroutine 7 [syscall, synctest bubble 3]:"),
	Entry("is about to move when one runs", false, "goroutine 7 [running, synctest bubble 3]:", "goroutine 8 [sync.Mutex.Lock, synctest bubble 3]:"),
	Entry("is about to move when one could run", false, "goroutine 7 [runnable, synctest bubble 3]:", "goroutine 8 [sync.Mutex.Lock, synctest bubble 3]:"),
	Entry("may move when one does what nobody knows", false, "goroutine 7 [dreaming, synctest bubble 3]:", "goroutine 8 [sync.Mutex.Lock, synctest bubble 3]:"),
)

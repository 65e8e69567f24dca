package mockprocmock_test

import (
	"os"
	"testing"

	"go.uber.org/mock/gomock"

	"github.com/understudy-go/understudy/mockproc"
	"github.com/understudy-go/understudy/mockproc/mockprocmock"
)

// end is what a supervisor does with a process that ignores it.
func end(p mockproc.Process) (asked, killed bool) {
	return p.Kill(os.Interrupt), p.Kill(os.Kill)
}

func TestProcessIsToldCallByCall(t *testing.T) {
	p := mockprocmock.NewMockProcess(gomock.NewController(t))
	gomock.InOrder(
		p.EXPECT().Kill(os.Interrupt).Return(false),
		p.EXPECT().Kill(os.Kill).Return(true),
	)
	if asked, killed := end(p); asked || !killed {
		t.Errorf("end said %t and %t, want false and true", asked, killed)
	}
}

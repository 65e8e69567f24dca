package usagefakemock_test

import (
	"context"
	"testing"

	"go.uber.org/mock/gomock"

	"github.com/understudy-go/understudy/usagefake"
	"github.com/understudy-go/understudy/usagefake/usagefakemock"
)

// A mocked source says call by call what it is asked and what it answers.
func TestMock(t *testing.T) {
	m := usagefakemock.NewMockSource(gomock.NewController(t))
	gomock.InOrder(
		m.EXPECT().ReadQuota(gomock.Any()).Return(usagefake.Quota{Status: usagefake.OK}, nil),
		m.EXPECT().RedeemQuotaReset(gomock.Any(), "key-1").DoAndReturn(func(context.Context, string) (usagefake.Redemption, error) {
			return usagefake.Redemption{}, usagefake.ErrLost
		}),
		m.EXPECT().ReadTokenUsage(gomock.Any()).Return(nil, usagefake.ErrSignedOut),
	)
	var src usagefake.Source = m
	if q, err := src.ReadQuota(t.Context()); err != nil || q.Status != usagefake.OK {
		t.Errorf("ReadQuota returns %v, %v", q, err)
	}
	if _, err := src.RedeemQuotaReset(t.Context(), "key-1"); err != usagefake.ErrLost {
		t.Errorf("RedeemQuotaReset returns %v", err)
	}
	if _, err := src.ReadTokenUsage(t.Context()); err != usagefake.ErrSignedOut {
		t.Errorf("ReadTokenUsage returns %v", err)
	}
}

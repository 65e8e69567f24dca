package wire

import "github.com/understudy-go/understudy/usagefake"

// DeepSeekBalance is the answer of DeepSeek's /user/balance. Where the account does not pay by use there are no balances in it.
func DeepSeekBalance(q usagefake.Quota, u Units) []byte {
	type info struct {
		Currency string `json:"currency"`
		Total    any    `json:"total_balance"`
		Granted  any    `json:"granted_balance"`
		ToppedUp any    `json:"topped_up_balance"`
	}
	out := struct {
		Available bool   `json:"is_available"`
		Infos     []info `json:"balance_infos"`
	}{Infos: []info{}}
	if b := q.Balance; b != nil {
		out.Available = b.Total > 0 && !b.Unavailable
		out.Infos = append(out.Infos, info{b.Currency, u.amount(b.Total), u.amount(b.Granted), u.amount(b.ToppedUp)})
	}
	return encode(out)
}

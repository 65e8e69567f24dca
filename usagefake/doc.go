// Package usagefake has the quota and the token usage of an account that nobody has, for the tests of whoever shows them: a row of bars, a
// page of costs, a button that redeems a reset. It answers as a provider would, one read at a time, without a network and without a disk.
//
//	src, err := usagefake.New(usagefake.Config{Script: usagefake.ScriptRateLimited})
//	quota, err := src.ReadQuota(ctx)      // the session's window is at 100 percent
//	records, err := src.ReadTokenUsage(ctx) // fourteen days
//	done, err := src.RedeemQuotaReset(ctx, "key-1") // and the window is at 0
//
// A host that is written for [Source] takes a [Fake] for it. One that reads what a vendor sends is pointed at a server: package wire, below
// this one, has the shapes of Codex, Claude, ccusage and DeepSeek, and a handler that serves them.
//
// # Scripts
//
// A [Script] says what kind of account it is.
//
//	available        a session window of 5 hours that begins at 10 percent, a weekly one that begins at 20, two reset credits
//	rate-limited     the same, but that the session window begins at 100
//	balance          an account with an API key: money, in CNY, and no windows
//	custom-endpoint  quota is unsupported, as the requests go to somebody else
//	signed-out       nobody is signed in, so there are no numbers
//
// Each read raises every window by one percentage point, up to 100. So the first read of available says 11 and 21. A window whose time has
// come starts again at 0, with the next reset time, and the read after it says 1. Reset times count from [New], without the fraction of its
// second. Nothing else moves. While a window is at 100, [Quota].Reached says so.
//
// Redeeming spends one of two credits and sets the session window to 0, whatever it was at; the weekly one stays. A key that has spent a credit
// spends no other: the outcome is alreadyRedeemed. No key, "", is never remembered. With both spent the outcome is noCredit.
//
// Token usage does not depend on the script: a record a day for the last fourteen days, today's in UTC included, oldest first. The models are
// [PricedModel] and [UnpricedModel], a day each in turn. A record is of its day's noon, and the same whenever it is read; only that of a morning is
// of now, as it would else be of the future.
//
// # Traps
//
// A [Trap] is something that real providers do and that hosts have been caught by, such as a weekly window where the session's is expected.
// They are switches in [Config], a word each, and those that do not contradict each other go together.
//
// What is still missing is said read by read: [Config] has a list of answers for each kind of call, which may be values, errors, silence, or
// what no provider should send.
//
// # Determinism
//
// What a [Fake] says depends on its [Config], on what [Config].Now returns, and on the calls before, and on nothing else. With one clock it is
// the same byte for byte. It is safe for concurrent use, calls back nobody but Now, and starts no goroutines; it runs on virtual time.
//
// # What is not faked
//
// A turn that an agent plays uses nothing up: only reads move a window. Reset credits do not expire. There is no sign-in: a server takes any
// token.
package usagefake

// Package wire has quotas and token usage in the shapes that vendors send and that hosts read, and a [Handler] that serves them. So a host that
// speaks to a vendor is tested with a usagefake.Source behind it:
//
//	src, err := usagefake.New(usagefake.Config{Traps: []usagefake.Trap{usagefake.WeeklyOnly}})
//	server := httptest.NewServer(wire.Handler(src, wire.Units{}))
//	host.UsageURL = server.URL
//
// Encoders write JSON without white space and in one order, so that the same quota is the same bytes. What the quota does not say is null,
// where the vendor's shape has a place for it. They check nothing: a percentage below 0 is sent as it is, and one that is no number is null.
//
// Times are seconds since 1970 with Codex, and ISO 8601 with Claude's endpoint and the report. Where sources disagree on a unit there is
// [Units].
//
// What a server of these vendors says besides, such as the names of users and organizations, is left out.
package wire
